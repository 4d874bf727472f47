import type { CreationComparison } from './compare-creation.ts';

/** The comparison as a table, line by line. */
export function describeCreation(creation: CreationComparison): string[] {
  const row = (round: string, server: string, f: CreationComparison['withAllServices']): string =>
    `| ${round} | ${server} | ${Math.round(f.requestsPerSecond)} | ${f.p50Ms} | ${f.p99Ms} | ${f.refused} |`;
  return [
    `createCollection, ${creation.connections} connections, rounds of ${creation.secondsPerRound} s in turns, other services stopped`,
    '| round | server | requests/s | p50 ms | p99 ms | refused |',
    '|---|---|---|---|---|---|',
    ...creation.rounds.flatMap((round, index) => [
      row(`${index + 1}`, 'gateway', round.gateway),
      row(`${index + 1}`, 'bare', round.bare),
    ]),
    row('', 'gateway, all services', creation.withAllServices),
    `gateway / bare: ${creation.throughputRatio} (at least 0.5, aim 0.8)`,
  ];
}
