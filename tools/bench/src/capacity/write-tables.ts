import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CHECKOUT } from '@opentill/local/checkout';
import { markdownOf } from '../report.ts';
import { COMPONENTS, REPLICATED, type OrderCosts } from './costs.ts';
import { BASE_RATE, FACTORS, limitsOf, planStep, type Step } from './plan-step.ts';
import { simulate, withOneLess, type Outcome, type Scenario } from './simulate.ts';

export const COSTS_FILE = join(import.meta.dirname, '..', '..', 'capacity.json');
export const DOCUMENT = join(CHECKOUT, 'docs', 'architecture', 'capacity.md');
const MARKS = ['costs', 'limits', 'steps', 'simulation'] as const;
type Mark = (typeof MARKS)[number];

export async function readCosts(): Promise<OrderCosts> {
  return JSON.parse(await readFile(COSTS_FILE, 'utf8')) as OrderCosts;
}

/** Rewrites the tables of the document between their marks. */
export async function writeCapacityTables(costs: OrderCosts): Promise<void> {
  await writeFile(DOCUMENT, withTables(await readFile(DOCUMENT, 'utf8'), costs));
}

export function withTables(document: string, costs: OrderCosts): string {
  return MARKS.reduce((text, mark) => replaceBetween(text, mark, TABLES[mark](costs)), document);
}

function replaceBetween(text: string, mark: Mark, table: string): string {
  const [begin, end] = [`<!-- capacity:${mark} -->`, `<!-- /capacity:${mark} -->`];
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`capacity.md: the marks ${begin} and ${end} are missing`);
  return `${text.slice(0, from + begin.length)}\n\n${table}\n${text.slice(to)}`;
}

const TABLES: Readonly<Record<Mark, (costs: OrderCosts) => string>> = {
  costs: costsTable,
  limits: limitsTable,
  steps: stepsTable,
  simulation: simulationTable,
};

const number = (value: number, digits = 3) =>
  Number(value.toPrecision(digits)).toLocaleString('en', { maximumFractionDigits: 2 });

/** Without the title line. */
function table(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  return markdownOf({ title: '', columns, rows })
    .trimStart()
    .replace(/^\| ---.*$/m, `|${columns.map(() => '---|').join('')}`);
}

function costsTable(costs: OrderCosts): string {
  const { database, broker, nodeCalls, processorMs, idleMsPerSecond } = costs;
  const note =
    `\`npm run bench -- capacity\`, ${costs.measuredAt}, ${costs.machine}, load ${costs.load}:\n` +
    `${costs.orders.toLocaleString('en')} orders on an EVM devnet, ${costs.paymentsPerSecond} payments/s.\n\n`;
  const processor = table(
    ['processor time', 'ms per order', 'ms per second while idle'],
    COMPONENTS.map((name) => [name, number(processorMs[name]), number(idleMsPerSecond[name])]),
  );
  const rest = table(
    ['per order', 'count'],
    [
      ['transactions of Postgres', number(database.transactions)],
      ['kB of WAL', number(database.walBytes / 1_000)],
      ['kB that stay permanently', number(database.permanentBytes / 1_000)],
      ['kB that expire', number(database.expiringBytes / 1_000)],
      ['messages published', number(broker.published)],
      ['messages consumed', number(broker.delivered)],
      ['calls to nodes', number(nodeCalls.perPayment)],
      ['calls to nodes per second while idle', number(nodeCalls.idlePerSecond)],
    ],
  );
  return `${note}${processor}\n${rest}`;
}

function limitsTable(costs: OrderCosts): string {
  const limits = limitsOf(costs);
  const rows: [string, number, string][] = [
    ['scanner of one chain', limits.oneChain, 'more chains; `CHAINS` gives each a process'],
    ['processor of one primary', limits.primaryCores, 'one installation per group of merchants'],
    ['WAL of one primary', limits.primaryWal, 'one installation per group of merchants'],
    ['transactions of one primary', limits.primaryTransactions, 'one installation per group of merchants'],
    ['messages of one broker', limits.broker, 'one installation per group of merchants'],
    ['thorough sweep of notifications', limits.sweep, 'an index of notifications without a delivery'],
    ["relay of the api's outbox", limits.oneRelay, 'several relays per outbox, which changes the code'],
  ];
  return table(
    ['resource', `payments/s`, `times ${BASE_RATE}`, 'lever'],
    rows
      .toSorted(([, a], [, b]) => a - b)
      .map(([what, rate, lever]) => [what, number(rate), number(rate / BASE_RATE, 2), lever]),
  );
}

function stepsTable(costs: OrderCosts): string {
  const steps = FACTORS.map((factor) => planStep(costs, factor));
  const row = (what: string, of: (step: Step) => string) => [what, ...steps.map(of)];
  return table(
    [
      '',
      ...steps.map(({ factor, rate }) => `${factor.toLocaleString('en')} × (${rate.toLocaleString('en')}/s)`),
    ],
    [
      row('installations', ({ installations }) => number(installations)),
      row('payments/s of each', ({ ratePerInstallation }) => number(ratePerInstallation)),
      ...REPLICATED.map((service) =>
        row(`replicas of ${service}, each`, ({ replicas }) => number(replicas[service])),
      ),
      row('chains with a scanner, each at least', ({ chains }) => number(chains)),
      row('cores of Postgres, each', ({ postgresCores }) => number(postgresCores)),
      row('cores of RabbitMQ, each', ({ brokerCores }) => number(brokerCores)),
      row('connections without a pooler, each', ({ connections }) => number(connections)),
      row('transactions/s, each', ({ transactionsPerSecond }) => number(transactionsPerSecond)),
      row('MB/s of WAL, each', ({ walMegabytesPerSecond }) => number(walMegabytesPerSecond)),
      row('messages/s, each', ({ messagesPerSecond }) => number(messagesPerSecond)),
      row('relays that the outbox of the api needs, each', ({ relaysNeeded }) => number(relaysNeeded)),
      row('calls to nodes per second, each at most', ({ nodeCallsPerSecond }) => number(nodeCallsPerSecond)),
      row('GB a day that stay, in all', ({ permanentGigabytesPerDay }) => number(permanentGigabytesPerDay)),
      row('GB a day that expire, in all', ({ expiringGigabytesPerDay }) => number(expiringGigabytesPerDay)),
    ],
  );
}

/** The first two steps above today's, each as planned and with a fault. */
function scenariosOf(costs: OrderCosts): readonly { readonly name: string; readonly scenario: Scenario }[] {
  return [10, 100].flatMap((factor) => {
    const step = planStep(costs, factor);
    const planned: Scenario = {
      costs,
      paymentsPerSecond: step.ratePerInstallation,
      replicas: step.replicas,
      chains: step.chains,
      postgresCores: Math.ceil(step.postgresCores),
      seconds: 40,
      seed: factor,
    };
    const busiest = REPLICATED.toSorted(
      (a, b) => costs.processorMs[b] / step.replicas[b] - costs.processorMs[a] / step.replicas[a],
    )[0]!;
    return [
      { name: `${factor} ×, as planned`, scenario: planned },
      { name: `${factor} ×, one ${busiest} less`, scenario: withOneLess(planned, busiest) },
      {
        name: `${factor} ×, database away for 10 s`,
        scenario: { ...planned, outage: { fromSecond: 10, seconds: 10 } },
      },
      {
        name: `${factor} ×, half the cores of Postgres`,
        scenario: { ...planned, postgresCores: Math.floor(planned.postgresCores / 2) },
      },
    ];
  });
}

function simulationTable(costs: OrderCosts): string {
  const cells = ({ p50, p99, max, backlog, busy }: Outcome) => [
    number(p50),
    number(p99),
    number(max),
    number(backlog),
    `${Math.round((busy['postgres'] ?? 0) * 100)} %`,
  ];
  return table(
    ['simulated', 'p50 ms', 'p99 ms', 'max ms', 'waiting at the end', 'Postgres busy'],
    scenariosOf(costs).map(({ name, scenario }) => [name, ...cells(simulate(scenario))]),
  );
}
