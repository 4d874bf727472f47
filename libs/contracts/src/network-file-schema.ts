import { CHAIN_PATTERN, NETWORK_KINDS } from '@opentill/domain/chains';

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
    dustBelow: { type: 'string', pattern: '^[0-9]+(\\.[0-9]+)?$' },
  },
};
/** A URL, or an object with one. network-mistakes.ts checks the URL, because its messages never repeat it. */
const endpointSchema = {
  type: ['string', 'object'],
  additionalProperties: false,
  required: ['url'],
  properties: {
    url: { type: 'string' },
    requestsPerSecond: { type: 'number', exclusiveMinimum: 0, maximum: 100000 },
    maxBlockRange: { type: 'integer', minimum: 1, maximum: 100000 },
  },
};
const finalitySchema = {
  type: 'object',
  additionalProperties: false,
  required: ['staleSeconds'],
  properties: {
    tag: { enum: ['finalized', 'safe'] },
    staleSeconds: { type: 'integer', minimum: 1, maximum: 86400 },
    minDepth: { type: 'integer', minimum: 1, maximum: 10000 },
    fallbackDepth: { type: 'integer', minimum: 1, maximum: 100000 },
  },
};
const wei = { type: 'string', pattern: '^[0-9]{1,30}$' };
const amountsBySymbol = {
  type: 'object',
  additionalProperties: { type: 'string', pattern: '^[0-9]+(\\.[0-9]+)?$' },
};
const gasPayoutsSchema = {
  type: 'object',
  additionalProperties: false,
  required: [
    'maxOpenNonces',
    'minPriorityFeePerGas',
    'maxPriorityFeePerGas',
    'maxFeePerGas',
    'bumpAfterSeconds',
  ],
  properties: {
    maxOpenNonces: { type: 'integer', minimum: 1, maximum: 1000 },
    minPriorityFeePerGas: wei,
    maxPriorityFeePerGas: wei,
    maxFeePerGas: wei,
    maxGas: { type: 'integer', minimum: 21_000, maximum: 16_777_216 },
    bumpAfterSeconds: { type: 'integer', minimum: 1, maximum: 86400 },
    lowGasBaseUnits: wei,
    lowBalance: amountsBySymbol,
    float: amountsBySymbol,
  },
};
/** The chain accepts up to a day, but another attempt at a payout waits for the expiry. */
export const EXPIRATION_SECONDS_MAX = 3_600;

const tronPayoutsSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['maxOpenPayouts', 'expirationSeconds', 'maxFeeLimitSun', 'energyMarginPercent'],
  properties: {
    maxOpenPayouts: { type: 'integer', minimum: 1, maximum: 1000 },
    expirationSeconds: { type: 'integer', minimum: 30, maximum: EXPIRATION_SECONDS_MAX },
    maxFeeLimitSun: wei,
    energyMarginPercent: { type: 'integer', minimum: 0, maximum: 300 },
    lowGasBaseUnits: wei,
    lowBalance: amountsBySymbol,
    float: amountsBySymbol,
  },
};
const suiPayoutsSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['maxOpenPayouts', 'maxGasBudgetMist', 'maxGasPriceMist'],
  properties: {
    maxOpenPayouts: { type: 'integer', minimum: 1, maximum: 1000 },
    maxGasBudgetMist: wei,
    maxGasPriceMist: wei,
    lowGasBaseUnits: wei,
    lowBalance: amountsBySymbol,
    float: amountsBySymbol,
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
    'blockTimeMs',
    'pollIntervalMs',
    'reorgWindow',
    'maxBlockRange',
    'tokens',
  ],
  properties: {
    chain: { type: 'string', pattern: CHAIN_PATTERN },
    family: { enum: ['EVM', 'TRON', 'SUI'] },
    kind: { enum: NETWORK_KINDS },
    enabled: { type: 'boolean' },
    chainId: { type: 'integer', minimum: 1 },
    genesisId: { type: 'string' },
    name: { type: 'string', minLength: 1, maxLength: 60 },
    rpcUrls: { type: 'array', minItems: 1, items: endpointSchema },
    solidityUrls: { type: 'array', minItems: 1, items: { type: 'string' } },
    wsUrl: { type: 'string' },
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
    finality: finalitySchema,
    blockTimeMs: { type: 'integer', minimum: 10, maximum: 600000 },
    headStaleSeconds: { type: 'integer', minimum: 1, maximum: 86400 },
    aloneAfterSeconds: { anyOf: [{ type: 'integer', minimum: 1, maximum: 86400 }, { const: 'never' }] },
    pollIntervalMs: { type: 'integer', minimum: 10, maximum: 60000 },
    restIntervalMs: { type: 'integer', minimum: 10, maximum: 60000 },
    reorgWindow: { type: 'integer', minimum: 8, maximum: 100000 },
    maxBlockRange: { type: 'integer', minimum: 1, maximum: 100000 },
    bloom: { type: 'boolean' },
    dataFee: { enum: ['op-stack'] },
    explorerTxUrl: { type: 'string', pattern: '^https://.*\\{txid\\}' },
    tokens: { type: 'array', minItems: 1, items: tokenSchema },
    payouts: { type: 'object' },
  },
  allOf: [
    ofFamily('EVM', ['bloom'], { payouts: gasPayoutsSchema, genesisId: false, solidityUrls: false }),
    ofFamily('TRON', ['genesisId'], {
      payouts: tronPayoutsSchema,
      genesisId: { type: 'string', pattern: '^0x[0-9a-f]{8}$' },
      chainId: false,
      bloom: false,
      dataFee: false,
      wsUrl: false,
      // Only solid blocks credit: a depth does not show that 19 super representatives confirmed a block.
      confirmations: { const: 'finalized' },
    }),
    ofFamily('SUI', ['genesisId'], {
      payouts: suiPayoutsSchema,
      genesisId: { type: 'string', pattern: '^[1-9A-HJ-NP-Za-km-z]{43,44}$' },
      chainId: false,
      bloom: false,
      dataFee: false,
      solidityUrls: false,
    }),
  ],
};

function ofFamily(family: string, required: readonly string[], properties: Record<string, unknown>): unknown {
  return {
    if: { type: 'object', properties: { family: { const: family } }, required: ['family'] },
    // oxlint-disable-next-line unicorn/no-thenable -- JSON Schema calls it so.
    then: {
      type: 'object',
      required,
      properties: { ...Object.fromEntries(required.map((name) => [name, true])), ...properties },
    },
  };
}

export const NETWORK_FILE_SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  additionalProperties: false,
  required: ['networks'],
  properties: { networks: { type: 'array', minItems: 1, items: networkSchema } },
};
