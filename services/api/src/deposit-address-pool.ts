import type { Address } from '@opentill/chain/address-codec';
import type { Family } from '@opentill/domain/chains';
import { GatewayError } from '@opentill/domain/gateway-error';
import { startLoop, type Loop } from '@opentill/runtime/loop';
import type { Observe } from './observe.ts';

export type DepositAddressPoolErrorCode =
  /** Retryable: no derived address became available in time. Permanent: the indices are used up. */
  'DEPOSIT_ADDRESSES_EXHAUSTED';

export interface FreshAddress {
  readonly family: Family;
  readonly derivationIndex: number;
  readonly address: Address;
}

export interface DepositAddressPool {
  start(): void;
  stop(): Promise<void>;
  /**
   * Takes an address for one order; it is never returned to another caller. @throws GatewayError
   * DEPOSIT_ADDRESSES_EXHAUSTED
   */
  take(family: Family): Promise<FreshAddress>;
  /**
   * Returns an address that no order uses according to the database. Never call it after a timeout or a lost
   * connection: the order may exist.
   */
  giveBack(address: FreshAddress): void;
  level(family: Family): number;
}

export interface DepositAddressPoolOptions {
  readonly families: readonly Family[];
  /** Reserves indices that no other call of any process ever gets. */
  readonly reserveIndexes: (family: Family, count: number) => Promise<readonly number[]>;
  /** Derives the addresses of `indexes` in their order, outside the event loop. */
  readonly derive: (family: Family, indexes: readonly number[]) => Promise<readonly Address[]>;
  readonly observe: Pick<Observe, 'depositAddressesLow'>;
  /** Number of addresses kept ready. A restart discards them; there are 2^31 indices. @default 32 768 */
  readonly target?: number;
  /** Maximum wait of an order for an address. @default 3 000 */
  readonly waitMs?: number;
}

/** Indices reserved and derived at once: about 10 ms of a thread. */
const BLOCK = 64;
/** BIP-32: higher indices are hardened. */
const INDEX_END = 0x8000_0000;

interface Waiter {
  readonly resolve: (address: FreshAddress) => void;
  readonly timer: NodeJS.Timeout;
}

/**
 * Keeps derived addresses ready, so that creating an order needs no derivation. Refills while no address is taken.
 * Under load it refills only below a quarter of the target, to leave the processor to requests. Without the pool, orders
 * that derive blocks of 64 inline lost 24 to 53 % of the orders per second on a quiet machine (tools/bench/FIGURES.md).
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

  /** Derives one block; false when the family needs no more now. */
  async function refill(family: Family): Promise<boolean> {
    if ((ready.get(family)?.length ?? 0) >= target) return false;
    const isBusy = (taken.get(family) ?? 0) > 0;
    taken.set(family, 0);
    if (isBusy && !isShort(family)) return false;
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

/** Derives one block per family in turn, so that a full or failing family does not delay the others. */
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
  return new GatewayError(
    'DEPOSIT_ADDRESSES_EXHAUSTED',
    `no deposit address of family ${family} is available`,
    {
      retryable,
      context: { family },
    },
  );
}
