import type { Address, AddressCodec } from '@opentill/chain/address-codec';
import { contractIn } from '@opentill/chain/parse-contract';
import type { TokenContract } from '@opentill/chain/token-contract';
import {
  confirmationsFor,
  restIntervalMsOf,
  type NetworkConfig,
  type TokenConfig,
} from '@opentill/contracts/network-config';
import type { TokenDisplay } from '@opentill/contracts/format-unmatched';
import type { SupportedSymbolAnswer } from '@opentill/contracts/http/answers';
import { isTestNetwork, networkKindOf } from '@opentill/contracts/network-kind';
import { isChain, presetOf, type Chain, type Family } from '@opentill/domain/chains';
import { GatewayError } from '@opentill/domain/gateway-error';
import { formatAmount, parseAmount, type BaseUnits } from '@opentill/domain/money';
import { expectedSeconds } from './payment-facts.ts';

export type AssetBookErrorCode = 'TOKEN_CONTRACT_INVALID';

/** Token on an enabled chain, with the data that an order needs. Amounts in base units. */
export interface Asset {
  readonly chain: Chain;
  readonly family: Family;
  readonly codec: AddressCodec;
  /** In the operator's spelling. */
  readonly symbol: string;
  /** Canonical address; null for the native coin. */
  readonly contract: TokenContract | null;
  readonly decimals: number;
  readonly displayDecimals: number;
  readonly minAmount: BaseUnits | null;
  readonly maxAmount: BaseUnits | null;
  /** null: the chain's finalized tag decides. */
  confirmationsFor(amount: BaseUnits): number | null;
  /** True for a token contract of this chain: a payout to it would be lost. */
  isTokenContract(address: Address): boolean;
}

export interface AssetBook {
  /** Asset of an enabled chain. The symbol is case-insensitive. */
  find(chain: Chain, symbol: string): Asset | undefined;
  /** Every asset of the enabled chains, in the order of the networks file. */
  readonly all: readonly Asset[];
  list(filter: { readonly chain?: Chain; readonly symbol?: string }): readonly SupportedSymbolAnswer[];
  /** Display name in the networks file; the chain's value if the file no longer contains it. */
  nameOf(chain: Chain): string;
  /** Explorer URL of any transaction, with `{txid}`; null without a configured explorer. */
  explorerTxUrl(chain: Chain): string | null;
  /** Block explorer URL of a transaction; null without a configured explorer. */
  explorerUrl(chain: Chain, txid: string): string | null;
  /** Usual time until a payment counts; null if unknown. `confirmations` null: finality decides. */
  expectedSeconds(chain: Chain, confirmations: number | null): number | null;
  /** Also of a disabled chain. */
  tokenOf(chain: Chain, symbol: string): Pick<TokenConfig, 'symbol' | keyof TokenDisplay> | undefined;
  /** Decimals of a chain's native coin, also for a disabled chain. */
  nativeDecimals(chain: Chain): number;
  readonly enabledChains: readonly Chain[];
  /** True for presets and chains of the networks file, also disabled ones. */
  readonly isKnownChain: (value: unknown) => value is Chain;
  /** The gateway's kind for a chain that the file no longer contains. */
  isTestNetwork(chain: Chain): boolean;
  /** EIP-155 chain id; null for another family, and for a chain that is neither a preset nor in the file. */
  chainIdOf(chain: Chain): number | null;
  /** Between two polls of the chain's scanner at rest; 0 for an unknown chain. */
  restIntervalMs(chain: Chain): number;
  readonly payoutChains: readonly Chain[];
  readonly enabledFamilies: readonly Family[];
  formatAddress(family: Family, address: string): string;
  formatContract(family: Family, contract: string): string;
  /** Canonical form of an entered address; undefined when it is not an address of the family. */
  parseAddress(family: Family, text: string): Address | undefined;
}

/** Decimals of EVM coins. Used for a chain that the configuration no longer contains. */
const USUAL_NATIVE_DECIMALS = 18;

/**
 * Builds the book from the configuration. A chain without an address codec counts as disabled.
 * @throws GatewayError TOKEN_CONTRACT_INVALID
 */
export function createAssetBook(
  networks: readonly NetworkConfig[],
  codecs: readonly AddressCodec[],
): AssetBook {
  const codecOf = new Map(codecs.map((codec) => [codec.family, codec]));
  const enabled = networks.filter((network) => network.enabled && codecOf.has(network.family));
  const assets = enabled.flatMap((network) => {
    const codec = codecOf.get(network.family);
    return codec === undefined ? [] : network.tokens.map((token) => toAsset(network, token, codec));
  });
  const byKey = new Map(assets.map((asset) => [keyOf(asset.chain, asset.symbol), asset]));
  const symbols = assets.map(toSupportedSymbol);
  const byChain = new Map(networks.map((network) => [network.chain, network]));
  const tokens = new Map(
    networks.flatMap(({ chain, tokens: configured }) =>
      configured.map((token) => [keyOf(chain, token.symbol), token] as const),
    ),
  );
  return {
    find: (chain, symbol) => byKey.get(keyOf(chain, symbol)),
    all: assets,
    list: ({ chain, symbol }) =>
      symbols.filter(
        (asset) =>
          (chain === undefined || asset.chain === chain) &&
          (symbol === undefined || asset.symbol.toUpperCase() === symbol.toUpperCase()),
      ),
    nameOf: (chain) => byChain.get(chain)?.name ?? chain,
    explorerTxUrl: (chain) => byChain.get(chain)?.explorerTxUrl ?? null,
    explorerUrl: (chain, txid) => byChain.get(chain)?.explorerTxUrl?.replaceAll('{txid}', txid) ?? null,
    expectedSeconds: (chain, confirmations) => {
      const network = byChain.get(chain);
      return network === undefined ? null : expectedSeconds(network, confirmations);
    },
    tokenOf: (chain, symbol) => tokens.get(keyOf(chain, symbol)),
    nativeDecimals: (chain) => byChain.get(chain)?.nativeDecimals ?? USUAL_NATIVE_DECIMALS,
    enabledChains: enabled.map((network) => network.chain),
    isKnownChain: (value): value is Chain =>
      isChain(value) && (presetOf(value) !== undefined || byChain.has(value)),
    isTestNetwork: (chain) => {
      const network = byChain.get(chain);
      if (network !== undefined) return isTestNetwork(network);
      return (presetOf(chain)?.kind ?? networkKindOf(networks)) === 'test';
    },
    chainIdOf: (chain) => presetOf(chain)?.chainId ?? byChain.get(chain)?.chainId ?? null,
    restIntervalMs: (chain) => {
      const network = byChain.get(chain);
      return network === undefined ? 0 : restIntervalMsOf(network);
    },
    payoutChains: enabled.filter(({ payouts }) => payouts !== undefined).map((network) => network.chain),
    enabledFamilies: [...new Set(enabled.map((network) => network.family))],
    formatAddress: (family, address) => codecOf.get(family)?.format(address as Address) ?? address,
    formatContract: (family, contract) =>
      codecOf.get(family)?.formatContract(contract as TokenContract) ?? contract,
    parseAddress: (family, text) => codecOf.get(family)?.parse(text),
  };
}

function keyOf(chain: Chain, symbol: string): string {
  return `${chain} ${symbol.toUpperCase()}`;
}

function toAsset(network: NetworkConfig, token: TokenConfig, codec: AddressCodec): Asset {
  const contracts = new Set<string | null>(network.tokens.map((each) => contractOf(network, each, codec)));
  return {
    chain: network.chain,
    family: network.family,
    codec,
    symbol: token.symbol,
    contract: contractOf(network, token, codec),
    decimals: token.decimals,
    displayDecimals: token.displayDecimals,
    minAmount: limit(token.minAmount, token.decimals),
    maxAmount: limit(token.maxAmount, token.decimals),
    confirmationsFor: (amount) => confirmationsFor(network, token, amount),
    isTokenContract: (address) => contracts.has(address),
  };
}

function contractOf(network: NetworkConfig, token: TokenConfig, codec: AddressCodec): TokenContract | null {
  if (token.contract === null) return null;
  const contract = contractIn(codec, token.contract);
  if (contract !== undefined) return contract;
  throw new GatewayError<AssetBookErrorCode>(
    'TOKEN_CONTRACT_INVALID',
    `${network.chain} ${token.symbol}: ${token.contract} is not an address of the chain; correct the networks file`,
    { retryable: false, context: { chain: network.chain, symbol: token.symbol } },
  );
}

function limit(text: string | null, decimals: number): BaseUnits | null {
  if (text === null) return null;
  const parsed = parseAmount(text, decimals);
  return parsed.ok ? parsed.value : null; // zero means no limit; the networks file's schema rejects other invalid amounts
}

function toSupportedSymbol(asset: Asset): SupportedSymbolAnswer {
  const show = (amount: BaseUnits | null) =>
    amount === null ? null : formatAmount(amount, asset.decimals, asset.displayDecimals);
  return {
    symbol: asset.symbol,
    chain: asset.chain,
    contractAddress: asset.contract === null ? null : asset.codec.formatContract(asset.contract),
    decimals: asset.decimals,
    minAmount: show(asset.minAmount),
    maxAmount: show(asset.maxAmount),
  };
}
