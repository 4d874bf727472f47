import type { CallbacksReport } from './bench-callbacks.ts';

/** The callbacks' figures as a table, line by line. */
export function describeCallbacks(report: CallbacksReport): string[] {
  return [
    'A backlog of callbacks, worked off by one webhook-sender with default settings',
    '| merchants | of them hanging | callbacks to the others | per second | cores used |',
    '|---|---|---|---|---|',
    ...[report.fast, report.withHanging].map((f) => {
      const cores = Object.entries(f.cores).map(([name, used]) => `${name} ${used}`);
      return `| ${f.merchants} | ${f.hanging} | ${f.callbacks} | ${f.perSecond} | ${cores.join(', ')} |`;
    }),
    `with one in ten hanging: ${report.ratio} of the speed`,
  ];
}
