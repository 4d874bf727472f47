import { setTimeout as sleep } from 'node:timers/promises';
import { createEvmStateReader } from '@opentill/chain-evm/read-balances';
import { createEvmReader } from '@opentill/chain-evm/reader';
import { createSuiStateReader } from '@opentill/chain-sui/read-state';
import { createTronStateReader } from '@opentill/chain-tron/read-state';
import type { Address } from '@opentill/chain/address-codec';
import type { BlockHeader } from '@opentill/chain/block';
import type { ChainReader } from '@opentill/chain/chain-reader';
import type { Holding, StateNumber } from '@opentill/chain/state-number';
import type { TokenContract } from '@opentill/chain/transfer';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Chain, Family } from '@opentill/domain/chains';
import { GatewayError } from '@opentill/domain/gateway-error';
import { canonicalContract } from '../../families.ts';

export interface Balance {
  readonly chain: Chain;
  readonly symbol: string;
  readonly decimals: number;
  readonly displayDecimals: number;
  /** The highest that a source reports. */
  readonly amountBaseUnits: bigint;
  readonly isDisputed: boolean;
}

export interface MoneyReader {
  readonly chain: Chain;
  /** Keeps the order of the addresses. Throws a ReaderErrorCode after a few attempts. */
  read(addresses: readonly Address[]): Promise<readonly (readonly Balance[])[]>;
}

interface Asset {
  readonly symbol: string;
  readonly contract: TokenContract | null;
  readonly decimals: number;
  readonly displayDecimals: number;
}

const REQUEST_TIMEOUT_MS = 10_000;
const ATTEMPTS = 5;
const FIRST_PAUSE_MS = 500;
/** Low enough that the second source has the block too; far above the blocks whose state nodes prune. */
const BLOCKS_BELOW_HEAD = 2;

/** Asks two sources. Connects at the first `read`. */
export function createMoneyReader(network: NetworkConfig): MoneyReader {
  const { chain } = network;
  const assets = assetsOf(network);
  const readBalances = BALANCES[network.family](network);
  return { chain, read: (addresses) => retry(() => readOnce({ chain, assets, readBalances }, addresses)) };
}

type ReadBalances = (holdings: readonly Holding[]) => Promise<readonly StateNumber[]>;

function createEvmBalances(network: NetworkConfig): ReadBalances {
  const reader = createEvmReader(network, { requestTimeoutMs: REQUEST_TIMEOUT_MS });
  const state = createEvmStateReader(network, { requestTimeoutMs: REQUEST_TIMEOUT_MS });
  return async (holdings) => state.balances(holdings, await blockBelowHead(reader));
}

/** A balance that changes between the reads of two sources appears as disputed. The next read corrects it. */
function createTronBalances(network: NetworkConfig): ReadBalances {
  const state = createTronStateReader(network, { requestTimeoutMs: REQUEST_TIMEOUT_MS });
  return async (holdings) => (await state.solidBalances(holdings)).balances;
}

function createSuiBalances(network: NetworkConfig): ReadBalances {
  const state = createSuiStateReader(network, { requestTimeoutMs: REQUEST_TIMEOUT_MS });
  return async (holdings) => state.balances(holdings);
}

const BALANCES: Readonly<Record<Family, (network: NetworkConfig) => ReadBalances>> = {
  EVM: createEvmBalances,
  TRON: createTronBalances,
  SUI: createSuiBalances,
};

/** Includes the native coin, even if the file does not list it: it pays fees, and customers send it. */
function assetsOf({ family, tokens, nativeSymbol, nativeDecimals }: NetworkConfig): readonly Asset[] {
  const native = { symbol: nativeSymbol, contract: null, decimals: nativeDecimals, displayDecimals: 2 };
  const others = tokens.flatMap((token) =>
    token.contract === null ? [] : [{ ...token, contract: canonicalContract(family, token.contract) }],
  );
  return [native, ...others];
}

async function readOnce(
  from: { chain: Chain; assets: readonly Asset[]; readBalances: ReadBalances },
  addresses: readonly Address[],
): Promise<readonly (readonly Balance[])[]> {
  const { chain, assets } = from;
  const holdings = addresses.flatMap((holder) => assets.map(({ contract }) => ({ holder, contract })));
  const numbers = await from.readBalances(holdings);
  return addresses.map((_, place) =>
    assets.flatMap(({ symbol, decimals, displayDecimals }, within) => {
      const number = numbers[place * assets.length + within];
      if (number === undefined) throw new TypeError('the source returned fewer balances than requested');
      const isDisputed = number.kind === 'DISPUTED';
      const reported = isDisputed ? number.said.map(({ value }) => value) : [number.value];
      const amountBaseUnits = reported.reduce((largest, value) => (value > largest ? value : largest), 0n);
      return amountBaseUnits === 0n
        ? []
        : [{ chain, symbol, decimals, displayDecimals, amountBaseUnits, isDisputed }];
    }),
  );
}

/** Reads a new block for each batch: nodes keep the state of some hundred blocks, and a search may take hours. */
async function blockBelowHead(reader: ChainReader): Promise<BlockHeader> {
  const head = await reader.head();
  const height = Math.max(0, head.height - BLOCKS_BELOW_HEAD);
  const [block = head] = await reader.headers(height, height);
  return block;
}

async function retry<T>(read: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await read();
    } catch (error) {
      const isFinal = !(error instanceof GatewayError) || !error.retryable || attempt === ATTEMPTS;
      if (isFinal) throw error;
      await sleep(FIRST_PAUSE_MS * 2 ** (attempt - 1));
    }
  }
}
