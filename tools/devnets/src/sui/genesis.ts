import { canonicalType, SUI_TYPE } from './coin-type.ts';
import type { SuiDevAccount } from './dev-accounts.ts';
import { blake2b256, hexOf } from './digest.ts';
import { emptyChain, type Chain, type CoinInfo } from './chain/chain.ts';
import { sealCheckpoint } from './chain/close-checkpoint.ts';
import { clockObject, coinObject, type SuiObject } from './chain/object.ts';
import type { ChainParameters } from './chain/parameters.ts';
import { genesisTransaction, type GenesisFunds } from './chain/system-transactions.ts';

const DEV_TOKEN_DECIMALS = 6;
export type DevTokenSymbol = 'USDC' | 'USDT';

/** Initial balance of every account: one half in coins, the other in the address balance. */
const RICH_MIST = 10_000_000n * 10n ** 9n;
const RICH_TOKENS = 1_000_000_000n * 10n ** BigInt(DEV_TOKEN_DECIMALS);
const COINS = 4n;
/** Start of Mainnet. Constant, because the chain id depends on it, and earlier than any time that a test uses. */
const GENESIS_TIME_MS = Date.UTC(2023, 4, 3);
const NAMES: Readonly<Record<DevTokenSymbol, string>> = { USDC: 'USDC', USDT: 'Tether USD' };

export function devTokenTypes(seed: string): Record<DevTokenSymbol, string> {
  const typeOf = (symbol: DevTokenSymbol): string => {
    const name = symbol.toLowerCase();
    return canonicalType(
      `${hexOf(blake2b256(Buffer.from(`${seed} package of ${symbol}`)))}::${name}::${symbol}`,
    );
  };
  return { USDC: typeOf('USDC'), USDT: typeOf('USDT') };
}

function devCoins(tokens: Readonly<Record<DevTokenSymbol, string>>): readonly CoinInfo[] {
  const coin = (coinType: string, symbol: string, name: string, decimals: number): CoinInfo => ({
    coinType,
    symbol,
    name,
    decimals,
    regulated: symbol === 'USDC',
    deniedAddresses: new Set(),
    paused: false,
  });
  return [
    coin(SUI_TYPE, 'SUI', 'Sui', 9),
    coin(tokens.USDC, 'USDC', NAMES.USDC, DEV_TOKEN_DECIMALS),
    coin(tokens.USDT, 'USDT', NAMES.USDT, DEV_TOKEN_DECIMALS),
  ];
}

export function createGenesisChain(options: {
  readonly seed: string;
  readonly accounts: readonly SuiDevAccount[];
  readonly tokens: Readonly<Record<DevTokenSymbol, string>>;
  readonly parameters: ChainParameters;
  readonly keepCheckpoints: number;
}): Chain {
  const { seed, accounts, tokens, parameters, keepCheckpoints } = options;
  const chain = emptyChain(parameters, devCoins(tokens), keepCheckpoints);
  const riches = [
    { coinType: SUI_TYPE, amount: RICH_MIST },
    { coinType: tokens.USDC, amount: RICH_TOKENS },
    { coinType: tokens.USDT, amount: RICH_TOKENS },
  ];
  const funds = accounts.flatMap(({ address }) =>
    riches.map(({ coinType, amount }): GenesisFunds => ({ address, coinType, amount: amount / 2n })),
  );
  const make = (previousTransaction: string): readonly SuiObject[] => {
    const coins = accounts.flatMap(({ address }) =>
      riches.flatMap(({ coinType, amount }) =>
        Array.from({ length: Number(COINS) }, (_, index) => {
          const id = hexOf(blake2b256(Buffer.from(`${seed} coin ${index} of ${coinType} for ${address}`)));
          const owner = { kind: 'address', address } as const;
          const object = { id, version: 1n, owner, previousTransaction, storageRebateMist: 0n };
          return coinObject(object, coinType, amount / 2n / COINS);
        }),
      ),
    );
    return [clockObject({ version: 1n, previousTransaction }, 0), ...coins];
  };
  const genesis = genesisTransaction(chain, make, funds);
  const transactions = [genesis];
  const first = sealCheckpoint(chain, undefined, {
    transactions,
    timestampMs: GENESIS_TIME_MS,
    endOfEpoch: false,
  });
  chain.lastPrologue = genesis.digest;
  chain.frameworkTransaction = genesis.digest;
  return Object.assign(chain, { id: first.digest, head: first });
}
