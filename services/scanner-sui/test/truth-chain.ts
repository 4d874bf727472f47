import type { Signer } from '@mysten/sui/cryptography';
import type { SuiDevnet } from '@opentill/devnets/sui/start-sui-devnet';
import { seededRandom } from '@opentill/testkit/seeded-random';
import { createSuiPaying, suiPayersOf, type PayOptions, type SuiOutput } from '@opentill/testkit/sui-paying';
import type { Deposit } from '@opentill/testkit/transfer-audit';
import type { TruthChain as TruthChainOf } from '@opentill/testkit/truth-run';

export type PaymentKind =
  | 'coin'
  /** Into the address balance, without creating a coin. */
  | 'intoBalance'
  /** Coin and balance in one transaction: one deposit. */
  | 'twice'
  /** Pays three of our addresses in two coins. */
  | 'batch'
  | 'native'
  /** Without gas cost, so that only the payment changes balances. */
  | 'gasless'
  /** Also gasless: a sender pays itself, and no balance changes. */
  | 'toHimself'
  /** The sender takes the gas cost out of a shared object. Transfers an empty coin, so no balance changes. */
  | 'gasTakenBack'
  | 'failed'
  | 'ofNothing';

/** Has payments to our addresses and transactions that only resemble them. */
export interface TruthChain extends TruthChainOf {
  /** Included in the next `checkpoint`. */
  send(kind: PaymentKind, to: string): Promise<void>;
  truth(): readonly Deposit[];
  readonly sent: Readonly<Record<string, number>>;
}

const SUI = '0x2::sui::SUI';
const SUI_WHOLE = `0x${'2'.padStart(64, '0')}::sui::SUI`;
/** Smaller amounts are not gasless. */
const GASLESS_LEAST = 10_000n;
const SYSTEM = `0x${'0'.repeat(64)}`;

export function createTruthChain(devnet: SuiDevnet, seed: number): TruthChain {
  const random = seededRandom(seed);
  const below = (end: number): number => Math.floor(random() * end);
  const pick = <T>(items: readonly T[]): T => items[below(items.length)]!;
  const amount = (): bigint => BigInt(1 + below(1_000_000_000));
  const payers = suiPayersOf(devnet);
  const paying = createSuiPaying(devnet);
  const { USDC, USDT } = devnet.tokens;
  const ours: string[] = [];
  const sent: Record<string, number> = {};
  const coin = (to: string): SuiOutput => ({ coinType: pick([USDC, USDT]), to, amount: amount() });
  const pay = async (outputs: readonly SuiOutput[], how: PayOptions = {}, by?: Signer): Promise<void> => {
    await paying.pay(by ?? pick<Signer>(payers), outputs, how);
  };
  const free = (to: string): SuiOutput => ({
    coinType: USDC,
    to,
    amount: GASLESS_LEAST + amount(),
    intoBalance: true,
  });

  const kinds: Readonly<Record<PaymentKind, (to: string) => Promise<void>>> = {
    coin: (to) => pay([coin(to)]),
    intoBalance: (to) => pay([{ ...coin(to), intoBalance: true }]),
    twice: (to) =>
      pay([
        { coinType: USDC, to, amount: amount() },
        { coinType: USDC, to, amount: amount(), intoBalance: true },
      ]),
    batch: (to) =>
      pay([
        { coinType: USDC, to, amount: amount() },
        { coinType: USDT, to, amount: amount() },
        { coinType: USDC, to: pick(ours), amount: amount() },
        { coinType: USDT, to: pick(ours), amount: amount() },
      ]),
    native: (to) => pay([{ coinType: SUI, to, amount: amount() }]),
    gasless: (to) => pay([free(to)], { gasless: true }),
    toHimself: async () => {
      const by = pick<Signer>(payers);
      await pay([free(by.toSuiAddress())], { gasless: true }, by);
    },
    gasTakenBack: async (to) => {
      const by = pick<Signer>(payers);
      devnet.control.setRebatedGas(by.toSuiAddress());
      await pay([{ ...coin(to), amount: 0n }], {}, by);
      devnet.control.setRebatedGas(undefined);
    },
    failed: (to) => pay([coin(to)], { fails: true }),
    ofNothing: (to) => pay([{ ...coin(to), amount: 0n }]),
  };
  const names = Object.keys(kinds) as PaymentKind[];

  return {
    sent,
    addAddress: (address) => void ours.push(address),
    send: (kind, to) => kinds[kind](to),
    async produceBlock() {
      for (let left = 1 + below(3); left > 0; left -= 1) {
        const kind = random() < 0.35 ? 'coin' : pick(names);
        await kinds[kind](pick(ours));
        sent[kind] = (sent[kind] ?? 0) + 1;
      }
      devnet.control.checkpoint();
    },
    truth() {
      const mine = new Set(ours);
      const deposits: Deposit[] = [];
      for (const { number: height, digest: block, transactions } of devnet.chain.checkpoints.values())
        for (const { digest: tx, data, outcome } of transactions) {
          if (data.sender === SYSTEM || outcome.failure !== undefined) continue;
          for (const { address: to, coinType, amount: moved } of outcome.balanceChanges)
            if (mine.has(to) && moved > 0n) {
              const token = coinType === SUI_WHOLE ? null : coinType;
              const position = `${to}:${coinType}`;
              deposits.push({ tx, position, token, to, amount: `${moved}`, height, block });
            }
        }
      return deposits;
    },
  };
}
