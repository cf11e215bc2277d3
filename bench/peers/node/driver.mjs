// Other Node HTTP clients behind the driver protocol (spec/conformance/PROTOCOL.md), as much as a cost table needs.
// One caller, one kept connection, closed loop. Each client is used as its documentation shows.
import { readFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { createInterface } from 'node:readline';
import axios from 'axios';
import got from 'got';

const version = (name) => JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url))).version;

const makers = {
  axios() {
    const client = axios.create({ httpAgent: new Agent({ keepAlive: true, maxSockets: 1 }), proxy: false, timeout: 30_000 });
    return async (url, body) => (await client.post(url, body)).status;
  },
  got() {
    const client = got.extend({ agent: { http: new Agent({ keepAlive: true, maxSockets: 1 }) }, retry: { limit: 0 } });
    return async (url, body) => (await client.post(url, { body })).statusCode;
  },
};

async function load(post, { url, body, count, seconds }) {
  const bytes = Buffer.alloc(body?.size ?? 0, 'x');
  const end = performance.now() + (seconds ?? 1e6) * 1000;
  const latencies = [];
  let errors = 0;
  let sample = null;
  while ((count === undefined || latencies.length + errors < count) && performance.now() < end) {
    const began = performance.now();
    try {
      await post(url, bytes);
      latencies.push(Math.round((performance.now() - began) * 1000));
    } catch (error) {
      errors += 1;
      sample ??= String(error);
    }
  }
  return { latencies_us: latencies, service_us: latencies, errors, error_sample: sample };
}

const clients = new Map();

async function reply(command) {
  switch (command.cmd) {
    case 'hello':
      return {
        protocol: 1,
        client: command.client,
        adapter: 'peers',
        version: null,
        base: { name: 'axios', version: `${version('axios')}, got ${version('got')}` },
        runtime: `Node ${process.versions.node}`,
        pid: process.pid,
        apis: Object.keys(makers),
        capabilities: ['load', 'shared_clock'],
      };
    case 'open': {
      const id = clients.size + 1;
      clients.set(id, makers[command.options.api ?? 'axios']());
      return { client_id: id };
    }
    case 'load':
      return load(clients.get(command.client_id), command);
    case 'close':
    case 'bye':
      return { ok: true };
    default:
      return { skipped: `the peers' driver has no ${command.cmd}` };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  const answer = await reply(command);
  process.stdout.write(`${JSON.stringify({ seq: command.seq, ...answer })}\n`);
  if (command.cmd === 'bye') break;
}
process.exit(0);
