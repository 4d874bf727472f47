import type { Address } from '@opentill/chain/address-codec';
import type { Chain } from '@opentill/domain/chains';
import { startLoop } from '@opentill/runtime/loop';
import type { DepositAddress } from '../store/find-moving.ts';
import type { Driver } from './drive-wallet.ts';

/** Deposit addresses that something has to be sent from. */
export interface DepositDriversDeps {
  readonly chain: Chain;
  /** Those with movements that have not ended, the longest waiting first; at most so many. */
  readonly findMoving: (limit: number) => Promise<readonly DepositAddress[]>;
  /** Drives one; it asks for the lease by itself, so replicas share them. Undefined where it is no address of ours. */
  readonly startDriver: (deposit: DepositAddress) => Driver | undefined;
  /** The most that are driven at once by this process. */
  readonly max: number;
  /** Pause between looks for addresses that nobody woke it for. */
  readonly everyMs: number;
  readonly onError: (error: unknown, failuresInRow: number) => void;
}

/** The drivers of a chain's deposit addresses: each lives for as long as there is something to send from its address. */
export interface DepositDrivers {
  readonly chain: Chain;
  /** Now. */
  current(): readonly Driver[];
  /** There may be something to do: for one that is driven, or a new one. */
  wake(): void;
  /** Ends what is under way and gives the leases back. */
  stop(): Promise<void>;
}

/**
 * Starts a driver for each address that something has to be sent from, and ends it when that is done. Nothing is lost by ending
 * one too early, or by never starting it here: what is to be sent stands in the database.
 */
export function startDepositDrivers(deps: DepositDriversDeps): DepositDrivers {
  const drivers = new Map<Address, Driver>();
  const loop = startLoop({
    name: `deposits of ${deps.chain}`,
    intervalMs: deps.everyMs,
    maxBackoffMs: Math.max(deps.everyMs, MAX_BACKOFF_MS),
    run: async () => {
      const moving = new Map((await deps.findMoving(deps.max)).map((deposit) => [deposit.address, deposit]));
      const done = [...drivers].filter(([address]) => !moving.has(address));
      for (const [address] of done) drivers.delete(address);
      await Promise.all(done.map(([, driver]) => driver.stop()));
      for (const [address, deposit] of moving) {
        if (drivers.has(address) || drivers.size >= deps.max) continue;
        const driver = deps.startDriver(deposit);
        if (driver !== undefined) drivers.set(address, driver);
      }
    },
    onError: deps.onError,
  });
  return {
    chain: deps.chain,
    current: () => [...drivers.values()],
    wake() {
      for (const driver of drivers.values()) driver.wake();
      loop.wake();
    },
    async stop() {
      await loop.stop();
      await Promise.all([...drivers.values()].map((driver) => driver.stop()));
      drivers.clear();
    },
  };
}

const MAX_BACKOFF_MS = 5_000;
