import type { Address } from '@opentill/chain/address-codec';
import type { Chain } from '@opentill/domain/chains';
import { startLoop } from '@opentill/runtime/loop';
import type { DepositAddress } from '../store/find-due-deposits.ts';
import type { Driver } from './drive-wallet.ts';

export interface DepositDriversDeps {
  readonly chain: Chain;
  /** With movements that have not ended, longest waiting first. */
  readonly findMoving: (limit: number) => Promise<readonly DepositAddress[]>;
  /** Each driver has its own lease, so replicas share the addresses. undefined for a foreign address. */
  readonly startDriver: (deposit: DepositAddress) => Driver | undefined;
  readonly max: number;
  readonly everyMs: number;
  readonly onError: (error: unknown, failuresInRow: number) => void;
}

export interface DepositDrivers {
  readonly chain: Chain;
  current(): readonly Driver[];
  wake(): void;
  stop(): Promise<void>;
}

/** Ending a driver too early, or never starting it here, loses no transaction: what must be sent is in the database. */
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
