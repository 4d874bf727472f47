import { CHAIN_PATTERN, FAMILIES } from '@opentill/domain/chains';

/** As an operator writes it. Amounts are decimal strings in display units of the token. */
export interface PolicyFile {
  readonly version: 1;
  readonly chains: Readonly<Record<string, ChainEntry>>;
  readonly allow?: readonly AllowEntry[];
  readonly deny?: readonly AddressEntry[];
  readonly coolingHours?: number;
  readonly approvers?: readonly { readonly name: string; readonly publicKey: string }[];
  readonly approvalsRequired?: number;
  readonly approvalWaitHours?: number;
  /** TRON, SUI: signatures of one payout before each further one needs an operator's decision. @default 2 */
  readonly maxAttemptsWithoutDecision?: number;
}

export interface ChainEntry {
  readonly enabled: boolean;
  readonly coldAddress?: string;
  readonly sweep?: SweepEntry;
  readonly assets: Readonly<Record<string, AssetEntry>>;
}

/** Amounts of the native coin in display units. */
export interface SweepEntry {
  /** Price in a stablecoin; compares costs with amounts. */
  readonly nativePrice: string;
  readonly maxTopUp: string;
  /** Fees, top-ups and rent in any 24 hours. */
  readonly maxNativePerDay: string;
  /** Share of the moved amount: 0.02 is 2 %. */
  readonly maxCostShare?: string;
  /** EVM: gwei per unit of gas. TRON: sun per unit of energy. */
  readonly maxGasPrice?: string;
  readonly minAgeMinutes?: number;
  readonly maxAgeHours?: number;
  readonly batchSize?: number;
  readonly stake?: boolean;
  readonly rent?: boolean;
  /** Limit per sweep. @default maxTopUp */
  readonly maxRentPerOrder?: string;
  /** Limit in any 24 hours. @default maxNativePerDay */
  readonly maxRentPerDay?: string;
  /** SUI: move coins without a fee where the network offers it. @default true */
  readonly gasless?: boolean;
}

export interface AssetEntry {
  readonly maxPerPayout: string;
  readonly maxPerHour: string;
  readonly maxPerDay: string;
  readonly maxPerMerchantPerDay: string;
  readonly approvalAbove?: string;
  readonly float?: string;
  /** Smaller amounts wait until they reach maxAgeHours. */
  readonly sweepMin?: string;
}

export interface AddressEntry {
  readonly family: (typeof FAMILIES)[number];
  readonly address: string;
  readonly note?: string;
}

export interface AllowEntry extends AddressEntry {
  readonly since: string;
}

const YEAR_HOURS = 8_760;
const amount = { type: 'string', pattern: '^[0-9]{1,30}(\\.[0-9]{1,30})?$' };
const address = {
  family: { enum: FAMILIES },
  address: { type: 'string', minLength: 1, maxLength: 200 },
  note: { type: 'string', maxLength: 200 },
};
const assetSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['maxPerPayout', 'maxPerHour', 'maxPerDay', 'maxPerMerchantPerDay'],
  properties: {
    maxPerPayout: amount,
    maxPerHour: amount,
    maxPerDay: amount,
    maxPerMerchantPerDay: amount,
    approvalAbove: amount,
    float: amount,
    sweepMin: amount,
  },
};
const sweepSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['nativePrice', 'maxTopUp', 'maxNativePerDay'],
  properties: {
    nativePrice: amount,
    maxTopUp: amount,
    maxNativePerDay: amount,
    maxCostShare: { type: 'string', pattern: '^(0(\\.[0-9]{1,4})?|1(\\.0{1,4})?)$' },
    maxGasPrice: amount,
    minAgeMinutes: { type: 'number', minimum: 0, maximum: 525_600 },
    maxAgeHours: { type: 'number', minimum: 0, maximum: YEAR_HOURS },
    batchSize: { type: 'integer', minimum: 1, maximum: 1_000 },
    stake: { type: 'boolean' },
    rent: { type: 'boolean' },
    maxRentPerOrder: amount,
    maxRentPerDay: amount,
    gasless: { type: 'boolean' },
  },
};
const chainSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['enabled', 'assets'],
  properties: {
    enabled: { type: 'boolean' },
    coldAddress: address.address,
    sweep: sweepSchema,
    assets: { type: 'object', additionalProperties: assetSchema },
  },
};

/** JSON Schema (2020-12). parsePolicy checks the rest. */
export const POLICY_SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  additionalProperties: false,
  required: ['version', 'chains'],
  properties: {
    version: { const: 1 },
    chains: {
      type: 'object',
      minProperties: 1,
      propertyNames: { pattern: CHAIN_PATTERN },
      additionalProperties: chainSchema,
    },
    // An empty list would read as "no address" and mean "any address".
    allow: {
      type: 'array',
      minItems: 1,
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['family', 'address', 'since'],
        properties: { ...address, since: { type: 'string', format: 'date-time', pattern: 'Z$' } },
      },
    },
    deny: {
      type: 'array',
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['family', 'address'],
        properties: address,
      },
    },
    coolingHours: { type: 'number', minimum: 0, maximum: YEAR_HOURS },
    approvers: {
      type: 'array',
      maxItems: 100,
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['name', 'publicKey'],
        properties: {
          name: { type: 'string', pattern: '^[A-Za-z0-9 ._@-]{1,64}$' },
          publicKey: { type: 'string', pattern: '^[0-9a-f]{64}$' },
        },
      },
    },
    approvalsRequired: { type: 'integer', minimum: 1, maximum: 100 },
    approvalWaitHours: { type: 'number', exclusiveMinimum: 0, maximum: YEAR_HOURS },
    maxAttemptsWithoutDecision: { type: 'integer', minimum: 1, maximum: 100 },
  },
} as const;
