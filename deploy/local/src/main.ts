import { randomBytes } from 'node:crypto';
import { GatewayError } from '@opentill/domain/gateway-error';
import { killProcessGroups } from '@opentill/test-servers/process-group';
import { CHECKOUT } from './checkout.ts';
import { readStartOptions } from './read-start-options.ts';
import { startGateway, type Gateway } from './start-gateway.ts';
import { summaryScreen, withoutPassword } from './summary.ts';

/** Then the rest is killed, which leaves 2 s of npm start's 15 s to the kernel, bootstrap and npm. */
const STOP_DEADLINE_MS = 13_000;
/** Then it exits, even if the kernel keeps a process: the guards kill later. */
const KILL_DEADLINE_MS = 1_500;
const PARENT_POLL_MS = 500;

/** Unix time in ms. Under `npm start` the lines continue those of bootstrap.mjs. */
const startedAt = Number(process.env['OPENTILL_STARTED_AT']) || Date.now();
const say = (line: string): void => {
  process.stderr.write(`${((Date.now() - startedAt) / 1000).toFixed(1).padStart(6)} s  ${line}\n`);
};

const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => requestStop(signal));
// bootstrap.mjs runs this process in its own group: if bootstrap gets killed, no signal arrives here.
if (process.env['OPENTILL_STARTED_BY'] === `${process.ppid}`) {
  const parent = process.ppid;
  setInterval(() => process.ppid === parent || requestStop('the end of the parent'), PARENT_POLL_MS).unref();
}

function requestStop(why: string): void {
  if (stopping.signal.aborted) return;
  say(`stopping (${why})`);
  stopping.abort();
  const killRest = () => void killProcessGroups(KILL_DEADLINE_MS).finally(() => process.exit(1));
  setTimeout(killRest, STOP_DEADLINE_MS).unref();
}

let gateway: Gateway | undefined;
try {
  const isRoot = process.getuid?.() === 0;
  const options = readStartOptions({
    args: process.argv.slice(2),
    env: process.env,
    isRoot,
    checkout: CHECKOUT,
  });
  gateway = await startGateway({ ...options, say, signal: stopping.signal });
  say('ready');
  const { chains, tron, sui } = gateway;
  const devnets = new Set<string>([...chains, tron, sui].flatMap((running) => running?.network.chain ?? []));
  process.stdout.write(
    summaryScreen({
      apiUrl: gateway.apiUrl,
      shopUrl: gateway.shopUrl,
      opsUrl: gateway.opsUrl,
      operatorTokenFile: gateway.directory.operatorTokenFile,
      approver: gateway.policy,
      merchant: options.merchant,
      chains: gateway.networks.map(({ chain, rpcUrls: [rpcUrl], blockTimeMs, tokens: [token] }) => ({
        chain,
        rpcUrl: rpcUrl === undefined ? '' : new URL(rpcUrl).origin, // the rest may contain a provider's key
        blockTimeMs,
        symbol: token?.symbol ?? '',
        hasDevnet: devnets.has(chain),
      })),
      database: withoutPassword(gateway.database.url),
      broker: withoutPassword(gateway.broker.url),
      logs: gateway.directory.logs,
      orderId: `first-${randomBytes(4).toString('hex')}`,
      keep: options.keep,
    }),
  );
  await Promise.race([
    gateway.died,
    new Promise((resolve) => stopping.signal.addEventListener('abort', resolve)),
  ]);
} catch (error) {
  if (!stopping.signal.aborted) {
    process.exitCode = 1;
    const message =
      error instanceof GatewayError ? error.message : String(error instanceof Error ? error.stack : error);
    process.stderr.write(`opentill: ${message}\n`);
    requestStop('an error');
  }
}
try {
  await gateway?.stop();
  say('stopped');
} catch (error) {
  process.exitCode = 1;
  process.stderr.write(`opentill: ${error instanceof Error ? error.message : String(error)}\n`);
}
process.exit();
