import type { Chain, Family } from '@opentill/domain/chains';

/** The services that produce or consume events; also the names of their database schemas, with `_` for `-`. */
export type ServiceName =
  | 'api'
  | 'scanner-evm'
  | 'scanner-tron'
  | 'scanner-sui'
  | 'confirmation-tracker'
  | 'payout-signer'
  | 'webhook-sender'
  | 'ops';

/** What each event says. A consumer takes it as a hint and reads the rows that it names. */
export interface EventData {
  /** An order exists; its first notification waits for delivery. */
  'order.created': { orderPk: string; eventId: string };
  /** The tracker moved orders, together; each `eventId` is a notification that it wrote. */
  'order.changed': { moves: { orderPk: string; eventId: string }[] };
  /** A payout is reserved and waits for the signer. */
  'payout.requested': { orderPk: string };
  /** Operators approved a payout or spoke against it. */
  'payout.decided': { orderPk: string };
  /** The signer sent payouts for the first time, or refused them. */
  'payout.changed': { orderPks: string[] };
  /** Own transactions came into a block, were verified there, or were taken back. */
  'fate.changed': { chain: Chain; txHashes: string[] };
  /** An operator accepts or refuses a collection. */
  'order.decided': { orderPk: string };
  /** Transfers to deposit addresses were seen, or seen again in another block. */
  'transfer.detected': { chain: Chain; transferIds: string[] };
  /** A reorganisation took these transfers back. */
  'transfer.orphaned': { chain: Chain; transferIds: string[] };
  /** The verified cursor passed `height`; these transfers are verified; the chain's time is `blockTimeSeconds`. */
  'block.verified': { chain: Chain; height: number; blockTimeSeconds: number; transferIds: string[] };
}
export type EventType = keyof EventData;

/** An event on its way. `id` is stable over every redelivery; `version` grows only with an incompatible change. */
export interface EventEnvelope<T extends EventType = EventType> {
  readonly id: string;
  readonly type: T;
  readonly version: 1;
  /** ISO 8601, when the state changed. */
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
  /** JSON Schema (2020-12) of `data`; additive change only within a version. */
  readonly data: object;
  readonly producers: readonly ServiceName[];
  readonly consumers: readonly ServiceName[];
}

/** Event → schema, producers, consumers. Exchanges, queues, bindings and permissions are computed from it. */
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
/** The most ids one event carries; a producer splits what is more. */
export const TRANSFER_IDS_PER_EVENT = 500;
/** The most payouts one event names; a producer splits what is more. */
export const PAYOUTS_PER_EVENT = 500;
/** The most own transactions one event names; a producer splits what is more. */
export const TX_HASHES_PER_EVENT = 500;
/** The most moved orders one event carries; a producer splits what is more. */
export const MOVES_PER_EVENT = 500;

/** `<subject>.<past-tense>.<family>`: always three words, `_` where no family applies. */
export function routingKey(type: EventType, family: Family | '_'): string {
  return `${type}.${family.toLowerCase()}`;
}
