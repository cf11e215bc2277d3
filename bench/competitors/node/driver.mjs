// Other Node HTTP clients behind the driver protocol (spec/conformance/PROTOCOL.md), as much as a cost table needs.
// One caller, one kept connection, closed loop. Each client is used as its documentation shows.
import { readFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import axios from 'axios';
import got from 'got';
import nodeFetch from 'node-fetch';
import superagent from 'superagent';

const version = (name) => JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url))).version;

// One write with TCP_NODELAY, an answer that is read to its known end: what Node and the machine take.
function bareSocket() {
  let socket;
  let waiting;
  let answer = '';
  const read = (data) => {
    answer += data;
    const head = answer.indexOf('\r\n\r\n');
    if (head < 0) return;
    const length = Number(/content-length: *(\d+)/i.exec(answer)?.[1] ?? 0);
    if (answer.length < head + 4 + length) return;
    const status = Number(answer.slice(9, 12));
    answer = '';
    waiting.resolve(status);
  };
  return (url, body) => new Promise((resolve, reject) => {
    waiting = { resolve, reject };
    const { hostname, port, host, pathname } = new URL(url);
    if (!socket) {
      socket = connect({ host: hostname, port: Number(port), noDelay: true });
      socket.setEncoding('latin1');
      socket.on('data', read);
      socket.on('error', (error) => waiting.reject(error));
      socket.on('close', () => waiting.reject(new Error('the origin closed the connection')));
    }
    socket.write(`POST ${pathname} HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/octet-stream\r\nContent-Length: ${body.length}\r\n\r\n${body.latin1Slice()}`, 'latin1');
  });
}

const makers = {
  'bare socket': bareSocket,
  axios() {
    const client = axios.create({ httpAgent: new Agent({ keepAlive: true, maxSockets: 1 }), proxy: false, timeout: 30_000 });
    return async (url, body) => (await client.post(url, body)).status;
  },
  'node-fetch'() {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    return async (url, body) => {
      const response = await nodeFetch(url, { method: 'POST', body, agent });
      await response.arrayBuffer();
      return response.status;
    };
  },
  superagent() {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    return async (url, body) => (await superagent.post(url).agent(agent).type('application/octet-stream').send(body)).status;
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
        adapter: 'competitors',
        version: null,
        base: {
          name: 'axios',
          version: `${version('axios')}, got ${version('got')}, node-fetch ${version('node-fetch')}, superagent ${version('superagent')}`,
        },
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
      return { skipped: `the competitors' driver has no ${command.cmd}` };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  const answer = await reply(command);
  process.stdout.write(`${JSON.stringify({ seq: command.seq, ...answer })}\n`);
  if (command.cmd === 'bye') break;
}
process.exit(0);
