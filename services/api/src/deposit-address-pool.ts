import type { Address } from '@opentill/chain/address-codec';
import type { Family } from '@opentill/domain/chains';
import { GatewayError } from '@opentill/domain/gateway-error';
import { startLoop, type Loop } from '@opentill/runtime/loop';
import type { Observe } from './observe.ts';

export type DepositAddressPoolErrorCode =
  /** No derived address was left and none came in time: retryable. The indices are used up: permanent. */
  'DEPOSIT_ADDRESSES_EXHAUSTED';

/** A derived address that no order has. */
export interface FreshAddress {
  readonly family: Family;
  readonly derivationIndex: number;
  readonly address: Address;
}

export interface DepositAddressPool {
  /** Begins to fill itself in the background. */
  start(): void;
  stop(): Promise<void>;
  /** An address for one order; the caller's alone from then on. @throws GatewayError DEPOSIT_ADDRESSES_EXHAUSTED */
  take(family: Family): Promise<FreshAddress>;
  /**
   * Takes back an address that surely no order has: the database said so. Never after a timeout or a lost connection:
   * the order may exist.
   */
  giveBack(address: FreshAddress): void;
  /** Addresses ready. */
  level(family: Family): number;
}

export interface DepositAddressPoolOptions {
  readonly families: readonly Family[];
  /** Reserves indices that nobody else gets, in any process, ever. */
  readonly reserveIndexes: (family: Family, count: number) => Promise<readonly number[]>;
  /** Derives the addresses of these indices, in their order, without holding up the event loop. */
  readonly derive: (family: Family, indexes: readonly number[]) => Promise<readonly Address[]>;
  readonly observe: Pick<Observe, 'depositAddressesLow'>;
  /** How many are kept ready for a rush. What is ready at a restart is never used: indices are plentiful. @default 32 768 */
  readonly target?: number;
  /** How long an order waits for one. @default 3 000 */
  readonly waitMs?: number;
}

/** Indices reserved and derived at once: some 20 ms of a thread. */
const BLOCK = 64;
/** BIP-32: indices from here on are hardened. */
const INDEX_END = 0x8000_0000;

interface Waiter {
  readonly resolve: (address: FreshAddress) => void;
  readonly timer: NodeJS.Timeout;
}

/**
 * Keeps derived addresses ready, so that creating an order costs no derivation. Refilled when nobody takes any, and
 * during a rush once it is down to a quarter: the processor has better things to do then.
 */
export function createDepositAddressPool(options: DepositAddressPoolOptions): DepositAddressPool {
  const target = options.target ?? 32_768;
  const ready = new Map<Family, FreshAddress[]>(options.families.map((family) => [family, []]));
  const waiting = new Map<Family, Set<Waiter>>(options.families.map((family) => [family, new Set()]));
  let loop: Loop | undefined;
  const taken = new Map<Family, number>();

  function put(fresh: FreshAddress): void {
    const waiters = waiting.get(fresh.family) ?? new Set();
    for (const waiter of waiters) {
      waiters.delete(waiter);
      clearTimeout(waiter.timer);
      waiter.resolve(fresh);
      return;
    }
    ready.get(fresh.family)?.push(fresh);
  }

  /** Derives a block more; false when the family has enough for now. */
  async function refill(family: Family): Promise<boolean> {
    if ((ready.get(family)?.length ?? 0) >= target) return false;
    const inRush = (taken.get(family) ?? 0) > 0;
    taken.set(family, 0);
    if (inRush && !isShort(family)) return false;
    const indexes = await options.reserveIndexes(family, BLOCK);
    if (indexes.some((index) => index >= INDEX_END)) throw exhausted(family, false);
    const addresses = await options.derive(family, indexes);
    for (const [place, address] of addresses.entries()) {
      const derivationIndex = indexes[place];
      if (derivationIndex !== undefined) put({ family, derivationIndex, address });
    }
    return true;
  }

  const isShort = (family: Family) => (ready.get(family)?.length ?? 0) < target / 4;

  function wait(family: Family): Promise<FreshAddress> {
    return new Promise((resolve, reject) => {
      const waiters = waiting.get(family);
      const timer = setTimeout(() => {
        waiters?.delete(waiter);
        reject(exhausted(family));
      }, options.waitMs ?? 3_000);
      const waiter = { resolve, timer };
      waiters?.add(waiter);
      loop?.wake();
    });
  }

  return {
    start() {
      loop ??= startLoop({
        name: 'deposit addresses',
        intervalMs: 1_000,
        maxBackoffMs: 2_000,
        run: async (signal) => refillInTurn(options.families, refill, signal),
        onError: (error) => options.observe.depositAddressesLow(error),
      });
    },
    async stop() {
      await loop?.stop();
    },
    async take(family) {
      const fresh = ready.get(family)?.pop();
      if (fresh === undefined) return wait(family);
      taken.set(family, (taken.get(family) ?? 0) + 1);
      if (isShort(family)) loop?.wake();
      return fresh;
    },
    giveBack: put,
    level: (family) => ready.get(family)?.length ?? 0,
  };
}

/** A block of each in turn: an order of one family does not wait until another is full, nor for one that fails. */
async function refillInTurn(
  families: readonly Family[],
  refill: (family: Family) => Promise<boolean>,
  signal: AbortSignal,
): Promise<void> {
  const failures: unknown[] = [];
  let wanting = families;
  while (wanting.length > 0 && !signal.aborted) {
    const next: Family[] = [];
    for (const family of wanting) {
      const wantsMore = await refill(family).catch((error: unknown) => void failures.push(error));
      if (wantsMore === true) next.push(family);
    }
    wanting = next;
  }
  if (failures.length > 0) throw failures[0];
}

function exhausted(family: Family, retryable = true): GatewayError<DepositAddressPoolErrorCode> {
  return new GatewayError('DEPOSIT_ADDRESSES_EXHAUSTED', `no deposit address of family ${family} is ready`, {
    retryable,
    context: { family },
  });
}
