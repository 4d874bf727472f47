import { randomUUID } from 'node:crypto';
import autocannon from 'autocannon';
import { liftLimits, nextClient, signedCollection, withBenchGateway } from '../gateway.ts';
import { processorMs, untilIdle } from '../processes.ts';
import type { Benchmark } from '../report.ts';
import { round } from '../statistics.ts';

const CONNECTIONS = 32;
const OTHER_SERVICES = ['demo-shop', 'webhook-sender', 'confirmation-tracker', 'scanner-evm'] as const;

export const creation: Benchmark = ({ say, quick }) =>
  withBenchGateway(async (bench) => {
    const [rounds, seconds] = quick ? [1, 2] : [3, 8];
    const { apiUrl, services } = bench.gateway;
    const pid = services.get('api')?.pid ?? 0;
    await liftLimits(bench);
    const rows = [['all services', ...(await load(apiUrl, pid, seconds))]];
    for (const service of OTHER_SERVICES) await bench.gateway.stopService(service);
    for (let number = 1; number <= rounds; number += 1) {
      await untilIdle(pid); // the api derives addresses after a load
      rows.push([`api only, round ${number}`, ...(await load(apiUrl, pid, seconds))]);
      say(String(rows.at(-1)));
    }
    return [
      {
        title: `createCollection, ${CONNECTIONS} connections, ${seconds} s a round; ms of processor time of the api`,
        columns: ['running', 'orders/s', 'p50 ms', 'p99 ms', 'ms of processor time per order'],
        rows,
      },
    ];
  });

async function load(url: string, pid: number, seconds: number): Promise<readonly number[]> {
  const run = randomUUID().slice(0, 8);
  let orders = 0;
  const before = processorMs(pid);
  const { requests, latency, non2xx, errors } = await autocannon({
    url,
    connections: CONNECTIONS,
    duration: seconds,
    requests: [
      {
        method: 'POST',
        path: '/v1/order/createCollection',
        setupRequest: (request) => {
          orders += 1;
          const headers = { ...request.headers, 'content-type': 'application/json', ...nextClient() };
          return { ...request, headers, body: signedCollection(`${run}-${orders}`, 'ETH_SEPOLIA') };
        },
      },
    ],
  });
  if (non2xx + errors > 0) throw new Error(`the api rejected ${non2xx + errors} requests`);
  const msPerOrder = (processorMs(pid) - before) / requests.total;
  return [round(requests.average, 0), latency.p50, latency.p99, round(msPerOrder)];
}
