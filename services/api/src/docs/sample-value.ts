import type { JsonSchema } from '@opentill/contracts/http/schemas';
import { refName } from './describe-schema.ts';

/** Has the length of a real signature. */
export const SAMPLE_SIGN = '5d1f0c9e7a3b42d8e6a1f4b7c0d92e3a8f5b6c1d4e7a90b2c3d5f6e8a1b4c7d0';

/** Consistent values for fields whose schema has no example. */
const SAMPLES: Readonly<Record<string, unknown>> = {
  orderId: 'order-1001',
  uid: '42',
  amount: '25.00',
  actualAmount: '25.00',
  collectAmount: '25.00',
  receivedAmount: '25.00',
  symbol: 'USDT',
  chain: 'ETH_SEPOLIA',
  description: 'Two books',
  returnUrl: 'https://shop.example.com/thanks',
  expiresIn: 1800,
  address: '0x5546708f56d6442397aD37F2B4aeD773B4E5d4AD',
  from: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
  to: '0x5546708f56d6442397aD37F2B4aeD773B4E5d4AD',
  contractAddress: '0x5FbDB2315678afecb367f032d93F642f64180aa3',
  decimals: 6,
  txid: '0x224b6cfb1b9a9f2c7a6f0c7a51d5a0fd1a3b6d1a1c6f0f27e2b7c1f2bd836c41',
  explorerUrl: null,
  transactionTime: 1_795_262_400,
  blockNum: 71,
  confirmedNum: 3,
  requiredConfirmations: 3,
  status: 'SUCCESS',
  reason: null,
  txGas: '0.00021',
  minAmount: '1.00',
  maxAmount: null,
  timestamp: 1_795_262_400,
  createdAt: 1_795_262_400,
  serverTime: 1_795_262_460,
  expiredTime: 1_795_264_200,
  paymentUrl: `https://pay.example.com/checkout?orderId=order-1001&sign=${SAMPLE_SIGN}.shop-1`,
  sign: SAMPLE_SIGN,
  nonce: '01a1ff1d-9388-7120-8b00-38f63ebe8b78',
};

/** An empty list of examples marks a member that only exceptional answers have. */
function isExceptional({ examples }: JsonSchema): boolean {
  return Array.isArray(examples) && examples.length === 0;
}

/**
 * Example value for a schema.
 * @param schemas schemas that references name
 */
export function sampleValue(
  schema: JsonSchema,
  schemas: Readonly<Record<string, JsonSchema>>,
  name = '',
): unknown {
  const referred = schemas[refName(schema) ?? ''];
  if (referred !== undefined) return sampleValue(referred, schemas, name);
  const { const: only, examples, properties, items, anyOf } = schema;
  if (only !== undefined) return only;
  if (typeof properties === 'object' && properties !== null)
    return Object.fromEntries(
      Object.entries(properties as Readonly<Record<string, JsonSchema>>)
        .filter(([, field]) => !isExceptional(field))
        .map(([member, field]) => [member, sampleValue(field, schemas, member)]),
    );
  if (name in SAMPLES) return SAMPLES[name];
  if (Array.isArray(examples)) return examples[0];
  if (typeof items === 'object' && items !== null) return [sampleValue(items as JsonSchema, schemas)];
  if (Array.isArray(anyOf)) return sampleValue(anyOf[0] as JsonSchema, schemas, name);
  if (schema['type'] === 'object') return {};
  const { enum: values } = schema;
  return Array.isArray(values) ? values[0] : null;
}
