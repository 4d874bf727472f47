import type { Metrics } from './metrics.ts';

export interface PoolStats {
  readonly total: number;
  readonly idle: number;
  readonly waiting: number;
}

export function observePools(metrics: Metrics, ...pools: readonly { stats(): PoolStats }[]): void {
  const sum = (of: (stats: PoolStats) => number) => pools.reduce((all, pool) => all + of(pool.stats()), 0);
  metrics.gauge({
    name: 'opentill_database_connections_count',
    help: 'Open database connections of the process',
    labelNames: ['state'],
    collect(gauge) {
      gauge.set(
        { state: 'busy' },
        sum(({ total, idle }) => total - idle),
      );
      gauge.set(
        { state: 'idle' },
        sum(({ idle }) => idle),
      );
    },
  });
  metrics.gauge({
    name: 'opentill_database_callers_waiting_count',
    help: 'Callers that wait for a database connection',
    collect: (gauge) => gauge.set(sum(({ waiting }) => waiting)),
  });
}
