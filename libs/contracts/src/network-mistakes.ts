import { PRESETS, presetOf, presetOfChainId, type Preset } from '@opentill/domain/chains';
import { parseAmount } from '@opentill/domain/money';
import {
  areEndedByEpochs,
  arePaidByGas,
  findToken,
  rpcEndpointsOf,
  safeReorgWindow,
  type AnyPayoutsConfig,
  type NetworkConfig,
  type PayoutsConfig,
  type SuiPayoutsConfig,
  type TokenConfig,
  type TronPayoutsConfig,
} from './network-config.ts';
import { hasDuplicates, isUrlOf } from './network-overrides.ts';

const EVM_CONTRACT = /^0x[0-9a-fA-F]{40}$/;
/** All 64 digits of the package, so that types compare as text; see `parseCoinType` in the family's adapter. */
const SUI_COIN_TYPE = /^0x[0-9a-f]{64}::[a-zA-Z_][a-zA-Z0-9_]*::[a-zA-Z_][a-zA-Z0-9_]*$/;
/** A network file names the native coin with `null` instead. */
const SUI_NATIVE = `0x${'2'.padStart(64, '0')}::sui::SUI`;
/** Form only; the family's adapter checks the checksum. */
const TRON_CONTRACT = /^T[1-9A-HJ-NP-Za-km-z]{33}$/;
/** Limit of the chain for the fee of a transaction (`getMaxFeeLimit`), in sun. */
const TRON_FEE_LIMIT_MAX = 15_000_000_000n;
/** Limit of the chain for the cost of a transaction (`max_tx_gas`), in MIST. */
const SUI_BUDGET_MAX = 50_000_000_000n;
/** Minimum units of a transaction (`base_tx_cost_fixed`). */
const SUI_UNITS_MIN = 1_000n;

/** Finds contradictions that a schema cannot express, within and between networks. One sentence each. */
export function mistakesOf(networks: readonly NetworkConfig[]): string[] {
  return networks.flatMap((network, index) => {
    const at = `/networks/${index} (${network.chain})`;
    const before = networks.slice(0, index);
    return [
      ...identityMistakes(network, before),
      ...endpointMistakes(network),
      ...restMistakes(network),
      ...depthMistakes(network),
      ...payoutMistakes(network),
      ...network.tokens.flatMap((token, place) => tokenMistakes(network, token, place)),
    ].map((mistake) => `${at}${mistake}`);
  });
}

/** A payment on a chain with two names would count twice. */
function identityMistakes(network: NetworkConfig, before: readonly NetworkConfig[]): string[] {
  const { chain } = network;
  const preset = presetOf(chain);
  const mistakes = preset === undefined ? configuredMistakes(network) : presetMistakes(network, preset);
  if (before.some((other) => other.chain === chain)) mistakes.push(' is listed twice');
  const { chainId } = network;
  const twin = before.find((other) => other.chain !== chain && other.chainId === chainId);
  const isRight = chainId !== undefined && chainId === (preset?.chainId ?? chainId);
  if (isRight && twin !== undefined)
    mistakes.push(`/chainId is also the one of ${twin.chain}; remove one of the two`);
  return mistakes;
}

function presetMistakes(network: NetworkConfig, preset: Preset): string[] {
  const { chain, chainId, genesisId, family, kind } = network;
  const mistakes: string[] = [];
  if (family !== preset.family) mistakes.push(` family must be ${preset.family}`);
  if (kind !== undefined && kind !== preset.kind) mistakes.push(`/kind must be ${preset.kind}, or absent`);
  // A devnet too: with another chain's id a test network would sign real money.
  if (preset.chainId !== undefined && chainId !== preset.chainId)
    mistakes.push(`/chainId must be ${preset.chainId}, the one of ${chain}`);
  if (preset.genesisId !== undefined && genesisId !== preset.genesisId)
    mistakes.push(`/genesisId must be ${preset.genesisId}, the one of ${chain}`);
  const namesakes = Object.entries<Preset>(PRESETS)
    .filter(
      ([name, known]) => name !== chain && known.family === preset.family && known.genesisId === genesisId,
    )
    .map(([name]) => name);
  if (genesisId !== undefined && namesakes.length > 0)
    mistakes.push(`/genesisId is the one of ${namesakes.join(', ')}`);
  return mistakes;
}

function configuredMistakes({ family, chainId, kind }: NetworkConfig): string[] {
  if (family !== 'EVM') {
    const known = Object.entries<Preset>(PRESETS).filter(([, preset]) => preset.family === family);
    return [` is not a ${family} chain; use ${known.map(([name]) => name).join(' or ')}`];
  }
  const mistakes: string[] = [];
  if (chainId === undefined) mistakes.push('/chainId is required: the answer of eth_chainId, as a number');
  if (kind === undefined)
    mistakes.push('/kind is required for a chain that is no preset: "main" (real money) or "test"');
  // A later version may make the chain a preset, so another name is allowed. The database has one name for a chain id.
  const [name, preset] = presetOfChainId(chainId) ?? [];
  if (preset !== undefined && kind !== preset.kind)
    mistakes.push(`/kind must be ${preset.kind}: ${chainId} is the chain id of ${name}`);
  return mistakes;
}

function endpointMistakes(network: NetworkConfig): string[] {
  const urls = rpcEndpointsOf(network).map(({ url }) => url);
  const mistakes = urls.flatMap((url, place) =>
    isUrlOf(url, 'http') ? [] : [`/rpcUrls/${place} is not an http or https URL`],
  );
  if (hasDuplicates(urls)) mistakes.push('/rpcUrls lists an endpoint twice');
  const solidity = network.solidityUrls;
  if (solidity !== undefined && solidity.length !== urls.length)
    mistakes.push('/solidityUrls must have one URL for each of rpcUrls');
  for (const [place, url] of (solidity ?? []).entries())
    if (!isUrlOf(url, 'http')) mistakes.push(`/solidityUrls/${place} is not an http or https URL`);
  if (network.wsUrl !== undefined && !isUrlOf(network.wsUrl, 'ws'))
    mistakes.push('/wsUrl is not a ws or wss URL');
  return mistakes;
}

function restMistakes({ restIntervalMs, pollIntervalMs }: NetworkConfig): string[] {
  const isBelow = restIntervalMs !== undefined && restIntervalMs < pollIntervalMs;
  return isBelow ? ['/restIntervalMs must not be less than pollIntervalMs'] : [];
}

function depthMistakes(network: NetworkConfig): string[] {
  const { confirmations, confirmationsByAmount, finality } = network;
  const mistakes: string[] = [];
  if (confirmations !== 'finalized') {
    if (finality !== undefined) mistakes.push("/finality needs confirmations 'finalized'");
    return mistakes;
  }
  if (confirmationsByAmount !== undefined)
    mistakes.push("/confirmationsByAmount is not allowed with confirmations 'finalized'");
  const { tag, minDepth, fallbackDepth } = finality ?? {};
  if (tag === 'safe') mistakes.push(...safeMistakes(network));
  if (network.family === 'TRON' && fallbackDepth !== undefined)
    mistakes.push('/finality fallbackDepth is not allowed for TRON: only solid blocks credit');
  if (minDepth !== undefined && fallbackDepth !== undefined && fallbackDepth < minDepth)
    mistakes.push('/finality fallbackDepth must not be less than minDepth');
  return mistakes;
}

/** A reorganisation may replace blocks at the tag. The window must cover it, and they are no proof about a payout. */
function safeMistakes(network: NetworkConfig): string[] {
  const { family, finality, payouts, reorgWindow, blockTimeMs } = network;
  if (family !== 'EVM') return [`/finality tag safe is not allowed for ${family}`];
  const mistakes: string[] = [];
  if (finality?.fallbackDepth !== undefined)
    mistakes.push('/finality fallbackDepth is not allowed with the tag safe: only safe blocks credit');
  if (payouts !== undefined)
    mistakes.push(
      "/payouts is not allowed with the finality tag safe: its blocks do not prove that a payout failed. Remove the tag, so that 'finalized' decides, or remove payouts",
    );
  const least = safeReorgWindow(blockTimeMs);
  if (reorgWindow < least)
    mistakes.push(`/reorgWindow must be at least ${least} with the finality tag safe: 30 minutes of blocks`);
  return mistakes;
}

function payoutMistakes(network: NetworkConfig): string[] {
  const { payouts } = network;
  if (payouts === undefined) return [];
  const mistakes = feeMistakes(payouts);
  for (const name of ['lowBalance', 'float'] as const) {
    for (const [symbol, amount] of Object.entries(payouts[name] ?? {})) {
      const token = findToken(network, symbol);
      if (token === undefined) mistakes.push(`${name} names ${symbol}, which is not a token of the network`);
      else if (!parseAmount(amount, token.decimals).ok)
        mistakes.push(`${name} of ${symbol} is not an amount`);
    }
  }
  return mistakes.map((mistake) => `/payouts ${mistake}`);
}

function feeMistakes(payouts: AnyPayoutsConfig): string[] {
  if (arePaidByGas(payouts)) return gasMistakes(payouts);
  return areEndedByEpochs(payouts) ? budgetMistakes(payouts) : feeLimitMistakes(payouts);
}

function budgetMistakes({ maxGasBudgetMist, maxGasPriceMist }: SuiPayoutsConfig): string[] {
  const [budget, price] = [BigInt(maxGasBudgetMist), BigInt(maxGasPriceMist)];
  if (price === 0n) return ['maxGasPriceMist must not be 0'];
  const isPayable = budget >= SUI_UNITS_MIN * price && budget <= SUI_BUDGET_MAX;
  return isPayable
    ? []
    : [`maxGasBudgetMist must be ${SUI_UNITS_MIN} times maxGasPriceMist to ${SUI_BUDGET_MAX}`];
}

function feeLimitMistakes({ maxFeeLimitSun }: TronPayoutsConfig): string[] {
  const limit = BigInt(maxFeeLimitSun);
  if (limit > 0n && limit <= TRON_FEE_LIMIT_MAX) return [];
  return [`maxFeeLimitSun must be 1 to ${TRON_FEE_LIMIT_MAX}`];
}

function gasMistakes(payouts: PayoutsConfig): string[] {
  const mistakes: string[] = [];
  const [min, priority, max] = [
    payouts.minPriorityFeePerGas,
    payouts.maxPriorityFeePerGas,
    payouts.maxFeePerGas,
  ].map(BigInt) as [bigint, bigint, bigint];
  if (max === 0n) mistakes.push('maxFeePerGas must not be 0');
  if (priority < min) mistakes.push('maxPriorityFeePerGas must not be less than minPriorityFeePerGas');
  if (max < priority) mistakes.push('maxFeePerGas must not be less than maxPriorityFeePerGas');
  return mistakes;
}

function tokenMistakes(network: NetworkConfig, token: TokenConfig, place: number): string[] {
  const mistakes: string[] = [];
  const before = network.tokens.slice(0, place);
  const { symbol, contract, decimals } = token;
  // `family` of a preset may be wrong: that is reported once and not for each token. So the chain counts.
  const family = presetOf(network.chain)?.family ?? network.family;
  if (before.some((other) => other.symbol.toUpperCase() === symbol.toUpperCase()))
    mistakes.push('is listed twice');
  const spelling = (text: string | null) => (family === 'EVM' ? text?.toLowerCase() : text) ?? null;
  const twin = before.find((other) => spelling(other.contract) === spelling(contract));
  if (twin !== undefined) mistakes.push(`has the contract of ${twin.symbol}`);
  if (contract === null) {
    const isNative = symbol === network.nativeSymbol && decimals === network.nativeDecimals;
    if (!isNative)
      mistakes.push(`must have the symbol and decimals of the native coin ${network.nativeSymbol}`);
  } else if (family === 'EVM' && !EVM_CONTRACT.test(contract)) {
    mistakes.push('contract is not an EVM address');
  } else if (family === 'TRON' && !TRON_CONTRACT.test(contract)) {
    mistakes.push('contract is not a TRON address (T and 33 characters)');
  } else if (family === 'SUI' && (!SUI_COIN_TYPE.test(contract) || contract === SUI_NATIVE)) {
    mistakes.push(
      'contract is not a coin type of SUI (0x, 64 hex digits, ::module::STRUCT; null for SUI itself)',
    );
  }
  for (const limit of ['minAmount', 'maxAmount'] as const) {
    const value = token[limit];
    if (value !== null && !parseAmount(value, decimals).ok) mistakes.push(`${limit} is not an amount`);
  }
  mistakes.push(...dustMistakes(token));
  return mistakes.map((mistake) => `/tokens/${place} (${symbol}) ${mistake}`);
}

/** An order below the dust limit could only be paid with more than its amount. */
function dustMistakes({ decimals, minAmount, dustBelow }: TokenConfig): string[] {
  if (dustBelow === undefined) return [];
  const dust = parseAmount(dustBelow, decimals);
  if (!dust.ok) return ['dustBelow is not an amount'];
  const least = minAmount === null ? undefined : parseAmount(minAmount, decimals);
  return least?.ok === true && dust.value > least.value ? ['dustBelow must not be more than minAmount'] : [];
}
