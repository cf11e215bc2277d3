// What the Prometheus exporter of OpenTelemetry for Node exports of some requests, on standard output. Run it in node/.

import { once } from 'node:events'
import http from 'node:http'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

const near = createRequire(`${process.cwd()}/package.json`)
const { metrics } = near('@opentelemetry/api')
const { PrometheusExporter, PrometheusSerializer } = near('@opentelemetry/exporter-prometheus')
const { MeterProvider } = near('@opentelemetry/sdk-metrics')
const [{ install }, { openTelemetry }] = await Promise.all(['onewrite', 'onewrite/opentelemetry']
  .map((name) => import(pathToFileURL(near.resolve(name)))))

const exporter = new PrometheusExporter({ preventServerStart: true })
metrics.setGlobalMeterProvider(new MeterProvider({ readers: [exporter] }))
install({ listener: openTelemetry() })
const server = http.createServer((request, response) => request.resume().on('end', () => response.end('ok'))).listen(0, '127.0.0.1')
await once(server, 'listening')
for (let round = 0; round < 2; round++) {
  await (await fetch(`http://127.0.0.1:${server.address().port}/`, { method: 'POST', body: 'x' })).text()
}
const { resourceMetrics } = await exporter.collect()
console.log(new PrometheusSerializer().serialize(resourceMetrics))
process.exit()
