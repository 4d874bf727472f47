import { Ajv2020 } from 'ajv/dist/2020.js';
import { CHAIN_VALUES, familyOf, type Chain, type Family } from '@opentill/domain/chains';
import { GatewayError } from '@opentill/domain/gateway-error';
import { parseAmount, type BaseUnits } from '@opentill/domain/money';

/** How deep a transfer must be: a number of confirmations (1 = in the head block), or the chain's finalized tag. */
export type Confirmations = number | 'finalized';

/** A token as the operator configures it (one entry of `tokens` in a network file). */
export interface TokenConfig {
  readonly symbol: string;
  /** Contract address or coin type; null for the native coin. */
  readonly contract: string | null;
  readonly decimals: number;
  /** Decimals shown at least (2 for USDT). */
  readonly displayDecimals: number;
  /** Smallest and largest order in display units; null: no limit. */
  readonly minAmount: string | null;
  readonly maxAmount: string | null;
}

export interface NetworkConfig {
  readonly chain: Chain;
  readonly family: Family;
  readonly enabled: boolean;
  /** EIP-155 chain id; only the EVM family has one. */
  readonly chainId?: number;
  readonly name: string;
  readonly rpcUrls: readonly string[];
  /** WebSocket URL for head wake-ups; polling stays the truth. */
  readonly wsUrl?: string;
  readonly nativeSymbol: string;
  readonly nativeDecimals: number;
  readonly confirmations: Confirmations;
  /** Deeper confirmations from an amount (display units) on; sorted by amount. */
  readonly confirmationsByAmount?: readonly { readonly fromAmount: string; readonly confirmations: number }[];
  readonly pollIntervalMs: number;
  /** Blocks kept below the verified cursor; a fork below it stops the scanner. */
  readonly reorgWindow: number;
  /** Most blocks asked of the node at once. */
  readonly maxBlockRange: number;
  /** Whether the header's bloom speaks of the same block (not on Avalanche, evm.md section 1). */
  readonly bloom: boolean;
  /** Transaction page of an explorer, `{txid}` is replaced. */
  readonly explorerTxUrl?: string;
  readonly tokens: readonly TokenConfig[];
}

export type NetworkConfigErrorCode =
  /** A network file is not JSON or breaks its schema; the message names every mistake. */
  'NETWORKS_INVALID';

const decimalText = { type: ['string', 'null'], pattern: '^[0-9]+(\\.[0-9]+)?$' };
const tokenSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['symbol', 'contract', 'decimals', 'displayDecimals', 'minAmount', 'maxAmount'],
  properties: {
    symbol: { type: 'string', pattern: '^[A-Za-z0-9.]{1,16}$' },
    contract: { type: ['string', 'null'] },
    decimals: { type: 'integer', minimum: 0, maximum: 36 },
    displayDecimals: { type: 'integer', minimum: 0, maximum: 18 },
    minAmount: decimalText,
    maxAmount: decimalText,
  },
};
const networkSchema = {
  type: 'object',
  additionalProperties: false,
  required: [
    'chain',
    'family',
    'enabled',
    'name',
    'rpcUrls',
    'nativeSymbol',
    'nativeDecimals',
    'confirmations',
    'pollIntervalMs',
    'reorgWindow',
    'maxBlockRange',
    'bloom',
    'tokens',
  ],
  properties: {
    chain: { enum: CHAIN_VALUES },
    family: { enum: ['EVM', 'TRON', 'SUI'] },
    enabled: { type: 'boolean' },
    chainId: { type: 'integer', minimum: 1 },
    name: { type: 'string', minLength: 1, maxLength: 60 },
    rpcUrls: { type: 'array', minItems: 1, items: { type: 'string', pattern: '^https?://' } },
    wsUrl: { type: 'string', pattern: '^wss?://' },
    nativeSymbol: { type: 'string', minLength: 1 },
    nativeDecimals: { type: 'integer', minimum: 0, maximum: 36 },
    confirmations: { anyOf: [{ type: 'integer', minimum: 1, maximum: 10000 }, { const: 'finalized' }] },
    confirmationsByAmount: {
      type: 'array',
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['fromAmount', 'confirmations'],
        properties: {
          fromAmount: { type: 'string', pattern: '^[0-9]+(\\.[0-9]+)?$' },
          confirmations: { type: 'integer', minimum: 1, maximum: 10000 },
        },
      },
    },
    pollIntervalMs: { type: 'integer', minimum: 10, maximum: 60000 },
    reorgWindow: { type: 'integer', minimum: 8, maximum: 100000 },
    maxBlockRange: { type: 'integer', minimum: 1, maximum: 100000 },
    bloom: { type: 'boolean' },
    explorerTxUrl: { type: 'string', pattern: '^https://.*\\{txid\\}' },
    tokens: { type: 'array', minItems: 1, items: tokenSchema },
  },
};

/** JSON Schema of a network file (deploy/networks/*.json). */
export const NETWORK_FILE_SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  additionalProperties: false,
  required: ['networks'],
  properties: { networks: { type: 'array', minItems: 1, items: networkSchema } },
};

/**
 * Reads a network file's text. Names all mistakes at once: schema, a family that is not the chain's, a chain or a
 * symbol twice, an EVM network without chainId, limits that are not amounts of their token.
 * @throws GatewayError NETWORKS_INVALID
 */
export function parseNetworkFile(text: string, fileName: string): readonly NetworkConfig[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (cause) {
    throw invalid(fileName, [`is not JSON: ${(cause as Error).message}`]);
  }
  const validate = new Ajv2020({ allErrors: true, strict: true, allowUnionTypes: true }).compile<{
    networks: NetworkConfig[];
  }>(NETWORK_FILE_SCHEMA);
  if (!validate(parsed)) {
    throw invalid(
      fileName,
      (validate.errors ?? []).map((e) => `${e.instancePath || '/'} ${e.message ?? 'is wrong'}`),
    );
  }
  const mistakes = parsed.networks.flatMap((network, i) => networkMistakes(network, parsed as never, i));
  if (mistakes.length > 0) throw invalid(fileName, mistakes);
  return parsed.networks;
}

function networkMistakes(
  network: NetworkConfig,
  file: { networks: NetworkConfig[] },
  index: number,
): string[] {
  const at = `/networks/${index} (${network.chain})`;
  const mistakes: string[] = [];
  if (network.family !== familyOf(network.chain))
    mistakes.push(`${at} family must be ${familyOf(network.chain)}`);
  if (file.networks.findIndex((n) => n.chain === network.chain) !== index)
    mistakes.push(`${at} stands twice`);
  if (network.family === 'EVM' && network.chainId === undefined) mistakes.push(`${at} needs chainId`);
  network.tokens.forEach((token, i) => {
    const here = `${at}/tokens/${i} (${token.symbol})`;
    const same = (t: TokenConfig) => t.symbol.toUpperCase() === token.symbol.toUpperCase();
    if (network.tokens.findIndex(same) !== i) mistakes.push(`${here} stands twice`);
    for (const limit of ['minAmount', 'maxAmount'] as const) {
      const value = token[limit];
      if (value !== null && !parseAmount(value, token.decimals).ok)
        mistakes.push(`${here} ${limit} is not an amount`);
    }
  });
  return mistakes;
}

function invalid(fileName: string, mistakes: readonly string[]): GatewayError<NetworkConfigErrorCode> {
  return new GatewayError('NETWORKS_INVALID', `${fileName}:\n  ${mistakes.join('\n  ')}`, {
    retryable: false,
    context: { fileName },
  });
}

/** The token of a network by symbol, without regard to case. */
export function findToken(network: NetworkConfig, symbol: string): TokenConfig | undefined {
  return network.tokens.find((t) => t.symbol.toUpperCase() === symbol.toUpperCase());
}

/** The confirmations that an amount needs on a network: null means the finalized tag. */
export function confirmationsFor(
  network: NetworkConfig,
  token: TokenConfig,
  amount: BaseUnits,
): number | null {
  if (network.confirmations === 'finalized') return null;
  let required = network.confirmations;
  for (const tier of network.confirmationsByAmount ?? []) {
    const from = parseAmount(tier.fromAmount, token.decimals);
    if (from.ok && amount >= from.value) required = Math.max(required, tier.confirmations);
  }
  return required;
}
