import type { Chain, Family } from '@opentill/domain/chains';

/** Services that produce or consume events; also the names of their database schemas, with `_` for `-`. */
export type ServiceName =
  | 'api'
  | 'scanner-evm'
  | 'scanner-tron'
  | 'scanner-sui'
  | 'confirmation-tracker'
  | 'payout-signer'
  | 'webhook-sender'
  | 'ops';

/** Data of each event. A consumer treats it as a hint and reads the rows that it names. */
export interface EventData {
  'order.created': { orderPk: string; eventId: string };
  'order.changed': { moves: { orderPk: string; eventId: string }[] };
  'payout.requested': { orderPk: string };
  'payout.decided': { orderPk: string };
  'payout.changed': { orderPks: string[] };
  'fate.changed': { chain: Chain; txHashes: string[] };
  'order.decided': { orderPk: string };
  /** A transfer that is detected again in another block is reported again. */
  'transfer.detected': { chain: Chain; transferIds: string[] };
  'transfer.orphaned': { chain: Chain; transferIds: string[] };
  /** The verified cursor passed `height` at `blockTimeSeconds` of chain time; these transfers are verified. */
  'block.verified': { chain: Chain; height: number; blockTimeSeconds: number; transferIds: string[] };
}
export type EventType = keyof EventData;

/** An event message. `id` stays the same on redelivery; `version` grows only with an incompatible change. */
export interface EventEnvelope<T extends EventType = EventType> {
  readonly id: string;
  readonly type: T;
  readonly version: 1;
  /** ISO 8601 time at which the state changed. */
  readonly occurredAt: string;
  readonly data: EventData[T];
}

const uuid = { type: 'string', format: 'uuid' } as const;
const transferIds = {
  type: 'array',
  maxItems: 500,
  items: { type: 'string', pattern: '^[0-9]{1,19}$' },
} as const;
const txHashes = {
  type: 'array',
  minItems: 1,
  maxItems: 500,
  items: { type: 'string', minLength: 1, maxLength: 128 },
} as const;
const chain = { type: 'string', maxLength: 32 } as const;

function object(properties: Record<string, unknown>): object {
  return { type: 'object', additionalProperties: true, required: Object.keys(properties), properties };
}

interface CatalogEntry {
  /** JSON Schema (2020-12) of `data`; only additive changes within a version. */
  readonly data: object;
  readonly producers: readonly ServiceName[];
  readonly consumers: readonly ServiceName[];
}

/** Schema, producers and consumers of each event. Exchanges, queues, bindings and permissions are derived from it. */
export const EVENT_CATALOG: { readonly [T in EventType]: CatalogEntry } = {
  'order.created': {
    data: object({ orderPk: uuid, eventId: uuid }),
    producers: ['api'],
    consumers: ['webhook-sender'],
  },
  'order.changed': {
    data: object({
      moves: { type: 'array', minItems: 1, maxItems: 500, items: object({ orderPk: uuid, eventId: uuid }) },
    }),
    producers: ['confirmation-tracker'],
    consumers: ['webhook-sender'],
  },
  'payout.requested': {
    data: object({ orderPk: uuid }),
    producers: ['api'],
    consumers: ['payout-signer'],
  },
  'payout.decided': {
    data: object({ orderPk: uuid }),
    producers: ['ops'],
    consumers: ['payout-signer'],
  },
  'payout.changed': {
    data: object({ orderPks: { type: 'array', minItems: 1, maxItems: 500, items: uuid } }),
    producers: ['payout-signer'],
    consumers: ['confirmation-tracker'],
  },
  'fate.changed': {
    data: object({ chain, txHashes }),
    producers: ['scanner-evm', 'scanner-tron', 'scanner-sui'],
    consumers: ['confirmation-tracker', 'payout-signer'],
  },
  'order.decided': {
    data: object({ orderPk: uuid }),
    producers: ['ops'],
    consumers: ['confirmation-tracker'],
  },
  'transfer.detected': {
    data: object({ chain, transferIds }),
    producers: ['scanner-evm', 'scanner-tron', 'scanner-sui'],
    consumers: ['confirmation-tracker'],
  },
  'transfer.orphaned': {
    data: object({ chain, transferIds }),
    producers: ['scanner-evm', 'scanner-tron', 'scanner-sui'],
    consumers: ['confirmation-tracker'],
  },
  'block.verified': {
    data: object({
      chain,
      height: { type: 'integer', minimum: 0 },
      blockTimeSeconds: { type: 'integer', minimum: 0 },
      transferIds,
    }),
    producers: ['scanner-evm', 'scanner-tron', 'scanner-sui'],
    consumers: ['confirmation-tracker'],
  },
};

export const EVENT_TYPES = Object.keys(EVENT_CATALOG) as readonly EventType[];
export const TRANSFER_IDS_PER_EVENT = 500;
export const PAYOUTS_PER_EVENT = 500;
export const TX_HASHES_PER_EVENT = 500;
export const MOVES_PER_EVENT = 500;

export function routingKey(type: EventType, family: Family | '_'): string {
  return `${type}.${family.toLowerCase()}`;
}
