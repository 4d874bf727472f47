import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Finding } from './finding.ts';

const SILENCE_MS_MIN = 10_000;
const SILENCE_BLOCKS = 4;

/** The WebSocket only wakes the scanner: polling finds every block. */
export async function checkHeadsSocket(network: NetworkConfig): Promise<Finding> {
  const { wsUrl, pollIntervalMs, blockTimeMs } = network;
  const check = 'new heads';
  if (wsUrl === undefined) {
    const detail = `No wsUrl: payments appear at the next poll, every ${pollIntervalMs} ms.`;
    return { outcome: 'ok', subject: 'WebSocket', check, detail };
  }
  const subject = new URL(wsUrl).host;
  const timeoutMs = Math.max(SILENCE_MS_MIN, SILENCE_BLOCKS * blockTimeMs);
  const startedAt = performance.now();
  const trouble = await waitForHead(wsUrl, timeoutMs);
  if (trouble === undefined) {
    const waitedMs = Math.round(performance.now() - startedAt);
    return { outcome: 'ok', subject, check, detail: `A head came after ${waitedMs} ms.` };
  }
  const mend = 'Correct or remove wsUrl; until then payments appear at the next poll.';
  return { outcome: 'warn', subject, check, detail: trouble, mend };
}

/** Undefined when a head arrived, else the reason. */
async function waitForHead(url: string, timeoutMs: number): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const timer = setTimeout(() => resolve(`No head came within ${timeoutMs} ms.`), timeoutMs);
  const socket = new WebSocket(url);
  socket.addEventListener('open', () => {
    socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params: ['newHeads'] }));
  });
  socket.addEventListener('message', (event) => {
    const text = typeof event.data === 'string' ? event.data : '';
    if (text.includes('"eth_subscription"')) resolve(undefined);
    else if (text.includes('"error"')) resolve('The subscription to heads was refused.');
  });
  socket.addEventListener('error', () => resolve('The connection failed.'));
  socket.addEventListener('close', () => resolve('It closed the connection.'));
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    socket.close();
  }
}
