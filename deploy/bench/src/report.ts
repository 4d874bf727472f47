import type { CreationComparison } from './compare-creation.ts';
import type { PaymentPathFigures } from './measure-payment-path.ts';

export interface Report {
  readonly measuredAt: string;
  /** Cores, model, Node version. */
  readonly machine: string;
  readonly creation: CreationComparison;
  readonly path: PaymentPathFigures;
}

/** Prints the report as tables on standard output. */
export function printReport(report: Report): void {
  const print = (line = ''): void => void process.stdout.write(`${line}\n`);
  print(`${report.machine}, ${report.measuredAt}`);
  print();
  print(
    `createCollection, ${report.creation.connections} connections, rounds of ${report.creation.secondsPerRound} s in turns, other services stopped`,
  );
  print('| round | server | requests/s | p50 ms | p99 ms | refused |');
  print('|---|---|---|---|---|---|');
  report.creation.rounds.forEach((round, i) => {
    for (const side of ['gateway', 'bare'] as const) {
      const f = round[side];
      print(
        `| ${i + 1} | ${side} | ${Math.round(f.requestsPerSecond)} | ${f.p50Ms} | ${f.p99Ms} | ${f.refused} |`,
      );
    }
  });
  const all = report.creation.withAllServices;
  print(
    `| | gateway, all services | ${Math.round(all.requestsPerSecond)} | ${all.p50Ms} | ${all.p99Ms} | ${all.refused} |`,
  );
  print(`gateway / bare: ${report.creation.throughputRatio} (at least 0.5, aim 0.8)`);
  print();
  print(
    `Block visible at the node to callback received, ${report.path.paymentsPerSecond} payments/s, ${report.path.payments} payments`,
  );
  print('| callback | received | p50 ms | p99 ms | max ms |');
  print('|---|---|---|---|---|');
  for (const [type, f] of Object.entries(report.path.callbacks)) {
    print(`| ${type} | ${f.count} | ${f.p50Ms} | ${f.p99Ms} | ${f.maxMs} |`);
  }
  print('aim 40 and 120 ms, at most 100 and 300 ms');
  print();
  print('| resident memory, MB | idle | under load |');
  print('|---|---|---|');
  for (const [service, idle] of Object.entries(report.path.residentMegabytesIdle)) {
    print(`| ${service} | ${idle} | ${report.path.residentMegabytesLoaded[service] ?? '-'} |`);
  }
}
