import type { PaymentsReport, ShortPaymentsReport } from './bench-payments.ts';
import type { FullBlockFigures, StageTimes } from './measure-full-block.ts';
import type { LatencyFigures, SteadyLoadFigures } from './steady-load.ts';

/** The payments' figures as tables, line by line. */
export function describePayments(report: PaymentsReport): string[] {
  return [
    ...describeBlocks(report),
    '',
    'Ever more payments a second',
    '| payments/s | went through | SUCCESS p50, p99 ms | p50 of the last quarter | cores used |',
    '|---|---|---|---|---|',
    ...report.ramp.map(rampRow),
    `sustained: ${sustainedRate(report.ramp)} payments/s`,
    '',
    '| resident memory, MB | at first | at the end |',
    '|---|---|---|',
    ...Object.entries(report.megabytesIdle).map(
      ([service, idle]) => `| ${service} | ${idle} | ${report.megabytesLoaded[service] ?? '-'} |`,
    ),
  ];
}

/** What is measured of every chain. */
export function describeBlocks({ fullBlocks, latency }: ShortPaymentsReport): string[] {
  return [
    ...describeFullBlocks(fullBlocks),
    '',
    'From block to callback, a block every second (ms)',
    '| payments/s | callback | received | p50 | p90 | p99 | max | histogram: at most ms × how many |',
    '|---|---|---|---|---|---|---|---|',
    ...latency.flatMap(({ paymentsPerSecond, first, success }) => [
      latencyRow(paymentsPerSecond, 'PENDING_CONFIRMATION', first),
      latencyRow(paymentsPerSecond, 'SUCCESS', success),
    ]),
  ];
}

/** The highest rate that did not pile up. */
export function sustainedRate(ramp: readonly SteadyLoadFigures[]): number {
  const sustained = ramp.filter(({ lastQuarterP50Ms }) => lastQuarterP50Ms <= 1_000);
  return Math.max(0, ...sustained.map(({ paymentsPerSecond }) => paymentsPerSecond));
}

function describeFullBlocks(blocks: readonly FullBlockFigures[]): string[] {
  const stages = (kind: 'seen' | 'credited'): string[] =>
    Object.keys(blocks[0]?.[kind] ?? {}).map((stage) => {
      const cell = (times: StageTimes | undefined): string => `${times?.firstMs} to ${times?.lastMs}`;
      return `| ${kind}: ${stage} | ${blocks.map((block) => cell(block[kind][stage])).join(' | ')} |`;
    });
  return [
    `A block with ${blocks[0]?.payments} payments: first to last of each stage, ms after the block was visible`,
    `| stage | ${blocks.map((_, index) => `round ${index + 1}`).join(' | ')} |`,
    `|---|${blocks.map(() => '---|').join('')}`,
    ...stages('seen'),
    ...stages('credited'),
    'goal: the last callback within 2,000 ms',
  ];
}

function latencyRow(rate: number, callback: string, f: LatencyFigures): string {
  const histogram = Object.entries(f.histogram).map(([bound, count]) => `${bound} × ${count}`);
  return `| ${rate} | ${callback} | ${f.count} | ${f.p50Ms} | ${f.p90Ms} | ${f.p99Ms} | ${f.maxMs} | ${histogram.join(', ')} |`;
}

function rampRow(f: SteadyLoadFigures): string {
  const cores = Object.entries(f.cores)
    .filter(([, used]) => used >= 0.02)
    .sort(([, a], [, b]) => b - a)
    .map(([name, used]) => `${name} ${used}`);
  return `| ${f.paymentsPerSecond} | ${f.throughput}/s | ${f.success.p50Ms}, ${f.success.p99Ms} | ${f.lastQuarterP50Ms} | ${cores.join(', ')} |`;
}
