import { CHAIN_VALUES, FAMILIES } from '@opentill/domain/chains';

/** A policy as an operator writes it. Amounts are decimal strings in display units of the token. */
export interface PolicyFile {
  readonly version: 1;
  readonly chains: Readonly<Record<string, ChainEntry>>;
  readonly allow?: readonly AllowEntry[];
  readonly deny?: readonly AddressEntry[];
  readonly coolingHours?: number;
  readonly approvers?: readonly { readonly name: string; readonly publicKey: string }[];
  readonly approvalsRequired?: number;
  readonly approvalWaitHours?: number;
}

export interface ChainEntry {
  readonly enabled: boolean;
  readonly coldAddress?: string;
  readonly assets: Readonly<Record<string, AssetEntry>>;
}

export interface AssetEntry {
  readonly maxPerPayout: string;
  readonly maxPerHour: string;
  readonly maxPerDay: string;
  readonly maxPerMerchantPerDay: string;
  readonly approvalAbove?: string;
  readonly float?: string;
}

export interface AddressEntry {
  readonly family: (typeof FAMILIES)[number];
  readonly address: string;
  /** For people. */
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
  },
};
const chainSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['enabled', 'assets'],
  properties: {
    enabled: { type: 'boolean' },
    coldAddress: address.address,
    assets: { type: 'object', additionalProperties: assetSchema },
  },
};

/** JSON Schema (2020-12) of a policy file. What a schema cannot say, `policyMistakes` of parse-policy.ts does. */
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
      propertyNames: { enum: CHAIN_VALUES },
      additionalProperties: chainSchema,
    },
    // An empty list would read as "nobody" and mean "everybody".
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
  },
} as const;
