import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { benchCallbacks } from './bench-callbacks.ts';
import { benchPayments, benchSuiPayments, benchTronPayments } from './bench-payments.ts';
import { benchScanning } from './bench-scanning.ts';
import { compareCreation } from './compare-creation.ts';
import { describeDust, measureDust } from './measure-dust.ts';
import { describePayouts, measurePayouts } from './measure-payouts.ts';
import { describeSignatures, measureSignatures } from './measure-signatures.ts';
import { describeSmall, measureSmall } from './measure-small.ts';
import { describeSuiPayouts, measureSuiPayouts } from './measure-sui-payouts.ts';
import { describeTronPayouts, measureTronPayouts } from './measure-tron-payouts.ts';
import { describeCallbacks } from './print-callbacks.ts';
import { describeCreation } from './print-creation.ts';
import { describeBlocks, describePayments } from './print-payments.ts';
import { printScanning } from './print-scanning.ts';
import { describeSweepCosts, measureSweepCosts } from './measure-sweep-cost.ts';
import { withBenchGateway } from './start-bench-gateway.ts';

const RESULTS = join(import.meta.dirname, '..', 'results');
const MACHINE = `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, Node ${process.version}`;

/**
 * The figures of README.md and of the issues: `npm run bench`, or `npm run bench -- payments` for a part of them.
 * Every ratio's two sides are measured in the same run, on the same machine, in turns. Prints tables, and puts the
 * figures into results/latest.json beside those of other parts.
 */
const SECTIONS: Readonly<Record<string, (parts: readonly string[]) => Promise<object>>> = {
  async creation() {
    const creation = await withBenchGateway(async ({ gateway, token }) => compareCreation(gateway, token));
    print(describeCreation(creation));
    return creation;
  },
  async signatures() {
    const signatures = await measureSignatures(say);
    print(describeSignatures(signatures));
    return { signatures };
  },
  async payments() {
    const payments = await benchPayments(say);
    print(describePayments(payments));
    return payments;
  },
  async 'payments-tron'() {
    const payments = await benchTronPayments(say);
    print(describeBlocks(payments));
    return payments;
  },
  async 'payments-sui'() {
    const payments = await benchSuiPayments(say);
    print(describeBlocks(payments));
    return payments;
  },
  async callbacks() {
    const callbacks = await benchCallbacks(say);
    print(describeCallbacks(callbacks));
    return callbacks;
  },
  async payouts() {
    const payouts = await measurePayouts(say);
    print(describePayouts(payouts));
    return payouts;
  },
  async dust() {
    const dust = await measureDust(say);
    print(describeDust(dust));
    return dust;
  },
  async 'payouts-tron'() {
    const payouts = await measureTronPayouts(say);
    print(describeTronPayouts(payouts));
    return payouts;
  },
  async 'sweep-cost'() {
    const costs = await measureSweepCosts(say);
    print(describeSweepCosts(costs));
    return costs;
  },
  async 'payouts-sui'() {
    const payouts = await measureSuiPayouts(say);
    print(describeSuiPayouts(payouts));
    return payouts;
  },
  async small() {
    const small = await measureSmall(say);
    print(describeSmall(small));
    return small;
  },
  /** The scanner alone; its own parts can be measured apart, so the figures of the others stay. */
  async scan(parts) {
    const scanning = await benchScanning(parts, MACHINE);
    printScanning(scanning);
    return { ...(await readResults())['scan'], ...scanning };
  },
};

function say(line: string): void {
  process.stderr.write(`bench: ${line}\n`);
}

function print(lines: readonly string[]): void {
  process.stdout.write(`${MACHINE}, ${new Date().toISOString()}\n\n${lines.join('\n')}\n\n`);
}

async function readResults(): Promise<Record<string, object>> {
  const text = await readFile(join(RESULTS, 'latest.json'), 'utf8').catch(() => '{}');
  return JSON.parse(text) as Record<string, object>;
}

const [name, ...parts] = process.argv.slice(2);
if (name !== undefined && SECTIONS[name] === undefined)
  throw new Error(`bench: one of ${Object.keys(SECTIONS).join(', ')}, or nothing for all; not "${name}"`);
await mkdir(RESULTS, { recursive: true });
for (const [section, measure] of Object.entries(SECTIONS)) {
  if (name !== undefined && name !== section) continue;
  say(section);
  const figures = { machine: MACHINE, measuredAt: new Date().toISOString(), ...(await measure(parts)) };
  const results = { ...(await readResults()), [section]: figures };
  await writeFile(join(RESULTS, 'latest.json'), `${JSON.stringify(results, null, 2)}\n`);
}
