import { writeSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import type { WalletSender } from '@opentill/chain/wallet-sender';
import { evmFamily } from '@opentill/chain-evm/family';
import { createEvmSender } from '@opentill/chain-evm/sender/create-sender';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { payoutTermsOf } from '@opentill/contracts/payout-terms';
import { createCrashPoints } from '@opentill/testkit/crash-points';
import { seededRandom } from '@opentill/testkit/seeded-random';
import { openKeystoreSigner } from '@opentill/wallet/keystore-signer';
import type { NoncePaying } from '../../src/payouts/paying-network.ts';
import { startService } from '../world/start-service.ts';
import { policyCheckOf } from '../world/test-policy.ts';
import { sweepPolicy } from './sweep-policy.ts';

// The process kills itself (SIGKILL) before or after an SQL statement or a call to the chain. Its parent controls it by
// messages. Its last output line lists its steps, ending with the crash.

export interface PageContext {
  readonly databaseUrl: string;
  readonly amqpUrl: string;
  readonly network: NetworkConfig;
  readonly keystoreFile: string;
  readonly passphrase: string;
  readonly stateDirectory: string;
}

export interface CrashPlan {
  readonly crashAt: number | string | null;
  readonly seed: number;
  readonly lostShare: number;
}

const CALLS = [
  'currentPrices',
  'prepare',
  'balances',
  'sign',
  'broadcast',
  'latestCount',
  'pendingCount',
  'countAt',
] as const;

const points = createCrashPoints((step) => {
  const others = [...new Set(points.steps)].filter((name) => name !== step);
  writeSync(1, `${JSON.stringify([...others, step])}\n`);
  process.kill(process.pid, 'SIGKILL');
});

function mortal(sender: WalletSender, { seed, lostShare }: CrashPlan): WalletSender {
  const random = seededRandom(seed);
  const steps = Object.fromEntries(
    CALLS.map((name) => {
      const call = sender[name] as (...given: unknown[]) => Promise<unknown>;
      const effect = (...given: unknown[]): Promise<unknown> =>
        name === 'broadcast' && random() < lostShare
          ? Promise.resolve((given[0] as readonly unknown[]).map(() => 'UNKNOWN'))
          : call(...given);
      return [name, (...given: unknown[]) => points.around(name, () => effect(...given))];
    }),
  );
  return { ...sender, ...steps };
}

async function live({ keystoreFile, passphrase, network, ...where }: PageContext): Promise<void> {
  const { addressCodec: codec } = evmFamily;
  const keys = await openKeystoreSigner({ keystoreFile, passphrase, codecs: [codec], kind: 'test' });
  process.once('message', (fate: CrashPlan) => {
    points.crashAt(fate.crashAt ?? undefined);
    startService<NoncePaying>(
      {
        ...where,
        keys,
        wallets: keys.addresses,
        policy: policyCheckOf(network, sweepPolicy()),
        paying: {
          kind: 'NONCES',
          network,
          terms: payoutTermsOf(network)!,
          codec,
          sender: mortal(createEvmSender(network, { backend: keys }), fate),
          reader: evmFamily.createReader(network, {}),
        },
      },
      {
        wrapPool: points.wrapPool,
        leaseTtlMs: 1_000,
        fail: (error) => {
          throw error;
        },
      },
    );
  });
  flushCompileCache(); // a killed process does not write the cache
  process.send?.('ready');
}

process.once('message', (surroundings: PageContext) => void live(surroundings));
process.once('disconnect', () => process.exit(0)); // exits with its parent
