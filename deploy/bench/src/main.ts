import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePorts } from '@opentill/local/find-free-ports';
import { startGateway, type Gateway } from '@opentill/local/start-gateway';
import { compareCreation } from './compare-creation.ts';
import { measurePaymentPath } from './measure-payment-path.ts';
import { recordCallbacks } from './measure-latency.ts';
import { printReport, type Report } from './report.ts';

const TOKEN = 'bench-merchant-token';
const RESULTS = join(import.meta.dirname, '..', 'results');

/**
 * The figures of README.md and of the issues: `npm run bench`. Every ratio's two sides are measured in the same run,
 * on the same machine, in turns. Writes results/latest.json and prints a table.
 */
const stateDir = mkdtempSync(join(tmpdir(), 'opentill-bench-'));
chmodSync(stateDir, 0o711); // Postgres runs as a user of its own when we are root
const recorder = await recordCallbacks();
let gateway: Gateway | undefined;
try {
  gateway = await startGateway({
    stateDir,
    keep: false,
    ports: await findFreePorts(),
    merchant: {
      token: TOKEN,
      webhookSecret: 'bench-webhook-secret',
      callbackUrl: recorder.url,
      version: 'V3',
    },
    given: { databaseUrl: process.env['DATABASE_URL'], amqpUrl: process.env['AMQP_URL'] },
    extraEnvironment: {
      // Each request of the load comes from another address, so that the limits are counted but not reached.
      api: { TRUSTED_PROXIES: '127.0.0.1/32,::1/128', LOG_LEVEL: 'warn' },
      'scanner-evm': { LOG_LEVEL: 'warn' },
      'confirmation-tracker': { LOG_LEVEL: 'warn' },
      'webhook-sender': { LOG_LEVEL: 'warn' },
    },
    say: (line) => process.stderr.write(`bench: ${line}\n`),
  });
  const path = await measurePaymentPath(gateway, recorder, TOKEN);
  const creation = await compareCreation(gateway, TOKEN);
  const report: Report = {
    measuredAt: new Date().toISOString(),
    machine: `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, Node ${process.version}`,
    creation,
    path,
  };
  printReport(report);
  await mkdir(RESULTS, { recursive: true });
  await writeFile(join(RESULTS, 'latest.json'), `${JSON.stringify(report, null, 2)}\n`);
} finally {
  await gateway?.stop();
  await recorder.close();
  rmSync(stateDir, { recursive: true, force: true });
}
