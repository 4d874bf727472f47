/** What one order costs: created, paid, credited, with three callbacks. Measured by the benchmark `capacity`. */
export interface OrderCosts {
  readonly measuredAt: string;
  readonly machine: string;
  /** Load average of the last minute at the start, and payments/s of the run. */
  readonly load: number;
  readonly paymentsPerSecond: number;
  readonly orders: number;
  /** Processor time in ms per order, without the idle part. */
  readonly processorMs: Readonly<Record<Component, number>>;
  /** Part of `postgres` in the backends of each service, in ms per order. Vacuum, WAL and checkpoints are the rest. */
  readonly databaseMs: Readonly<Record<Stage, number>>;
  /** Processor time of the idle gateway, in ms per second. */
  readonly idleMsPerSecond: Readonly<Record<Component, number>>;
  readonly database: {
    readonly transactions: number;
    readonly walBytes: number;
    /** Orders, transfers, settlements, ledger, addresses and last callbacks, with their indexes. */
    readonly permanentBytes: number;
    /** Everything that a retention deletes, with indexes. */
    readonly expiringBytes: number;
  };
  readonly broker: { readonly published: number; readonly delivered: number };
  /** Calls to nodes per payment, and per second without payments. */
  readonly nodeCalls: { readonly perPayment: number; readonly idlePerSecond: number };
}

/** In the order in which they handle a payment. */
export const STAGES = ['api', 'scanner-evm', 'confirmation-tracker', 'webhook-sender'] as const;
export type Stage = (typeof STAGES)[number];
export const COMPONENTS = [...STAGES, 'postgres', 'rabbitmq'] as const;
export type Component = (typeof COMPONENTS)[number];

/** Services that run in replicas. A scanner runs once per chain. */
export type Replicated = Exclude<Stage, 'scanner-evm'>;
export const REPLICATED: readonly Replicated[] = ['api', 'confirmation-tracker', 'webhook-sender'];
