import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { capacity } from './benchmarks/capacity.ts';
import { catchUp, scannerMemory } from './benchmarks/catch-up.ts';
import { creation } from './benchmarks/creation.ts';
import { dust } from './benchmarks/dust.ts';
import { memory } from './benchmarks/memory.ts';
import { orders } from './benchmarks/orders.ts';
import { payments } from './benchmarks/payments.ts';
import { payouts } from './benchmarks/payouts.ts';
import { rpcCost } from './benchmarks/rpc-cost.ts';
import { signatures } from './benchmarks/signatures.ts';
import { evm } from './families/evm.ts';
import { sui } from './families/sui.ts';
import { tron } from './families/tron.ts';
import { markdownOf, type Benchmark } from './report.ts';

const BENCHMARKS: Readonly<Record<string, readonly [what: string, measure: Benchmark]>> = {
  creation: ['orders created per second', creation],
  signatures: ['processor time of a rejected signature with 1, 100 and 10,000 merchants', signatures],
  payments: ['from block to callback through all services, on an EVM chain', payments(evm)],
  'payments-tron': ['the same on TRON', payments(tron)],
  'payments-sui': ['the same on SUI', payments(sui)],
  payouts: ['1,000 payouts of one hot wallet, on an EVM chain', payouts(evm)],
  'payouts-tron': ['the same on TRON', payouts(tron)],
  'payouts-sui': ['the same on SUI', payouts(sui)],
  'catch-up': ['blocks/s of a scanner that catches up, on an EVM chain', catchUp(evm)],
  'catch-up-tron': ['the same on TRON', catchUp(tron)],
  'catch-up-sui': ['the same on SUI', catchUp(sui)],
  'rpc-cost': ['calls and bytes a day of each EVM network', rpcCost(evm)],
  'rpc-cost-tron': ['the same of TRON', rpcCost(tron)],
  'rpc-cost-sui': ['the same of SUI', rpcCost(sui)],
  memory: ['memory of the gateway in two processes, and in one per service', memory],
  'memory-tron': ['the most memory of a scanner of TRON that catches up', scannerMemory(tron)],
  capacity: ['costs of an order, and the tables of docs/architecture/capacity.md', capacity],
  orders: ['creation, expiry, lists and sizes with 1,000,000 open orders', orders],
  dust: ['one more transfer to an order that has up to 100,000', dust],
};
const HELP = `npm run bench [-- <name>... [options]], without a name all of them:
${Object.entries(BENCHMARKS)
  .map(([name, [what]]) => `  ${name.padEnd(14)} ${what}`)
  .join('\n')}
Options:
  --minutes <n>        how long rpc-cost counts (default 10)
  --orders-a-day <n>   rpc-cost: the day of a shop with so many orders on each network; may be repeated
  --addresses <n>      deposit addresses in the database of catch-up (default 1,000,000)
  --orders <n>         open orders in the database of orders (default 1,000,000), with twice as many old ones
  --quick              little of everything, to show that it works: not for figures
Prints tables, and stores the figures in tools/bench/results/latest.json.
`;
const RESULTS = join(import.meta.dirname, '..', 'results');
const FILE = join(RESULTS, 'latest.json');
const MACHINE = `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, Node ${process.version}`;

function readArguments() {
  const { positionals: names, values } = parseArgs({
    options: {
      minutes: { type: 'string' },
      addresses: { type: 'string' },
      orders: { type: 'string' },
      'orders-a-day': { type: 'string', multiple: true, default: [] },
      quick: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
    allowPositionals: true,
  });
  const positive = (name: string, value: string): number => {
    if (!(Number(value) > 0)) throw new Error(`--${name} ${value}: use a number above 0`);
    return Number(value);
  };
  const numberIn = (name: 'minutes' | 'addresses' | 'orders'): number | undefined =>
    values[name] === undefined ? undefined : positive(name, values[name]);
  const ordersADay = values['orders-a-day'].map((value) => positive('orders-a-day', value));
  const unknown = names.filter((name) => !Object.hasOwn(BENCHMARKS, name));
  if (unknown.length > 0)
    throw new Error(`no benchmark ${unknown.join(', ')}; use ${Object.keys(BENCHMARKS).join(', ')}`);
  const { quick, help } = values;
  const [minutes, addresses, openOrders] = [numberIn('minutes'), numberIn('addresses'), numberIn('orders')];
  return { names, quick, help, minutes, addresses, openOrders, ordersADay };
}

async function measureAll({ names, ...options }: ReturnType<typeof readArguments>): Promise<void> {
  const say = (line: string): void => void process.stderr.write(`bench: ${line}\n`);
  await mkdir(RESULTS, { recursive: true });
  for (const [name, [, measure]] of Object.entries(BENCHMARKS)) {
    if (names.length > 0 && !names.includes(name)) continue;
    say(name);
    const measuredAt = new Date().toISOString();
    const load = loadavg().map((value) => value.toFixed(1));
    const tables = await measure({ say, ...options });
    process.stdout.write(
      `${name}: ${MACHINE}, load ${load[0]}, ${measuredAt}\n\n${tables.map(markdownOf).join('\n')}\n`,
    );
    if (options.quick) continue;
    const before = JSON.parse(await readFile(FILE, 'utf8').catch(() => '{}')) as object;
    const results = { ...before, [name]: { machine: MACHINE, load, measuredAt, tables } };
    await writeFile(FILE, `${JSON.stringify(results, null, 2)}\n`);
  }
}

let given: ReturnType<typeof readArguments> | undefined;
try {
  given = readArguments();
} catch (error) {
  process.stderr.write(`bench: ${(error as Error).message}\n`);
  process.exitCode = 2;
}
if (given?.help === true) process.stdout.write(HELP);
else if (given !== undefined) await measureAll(given);
