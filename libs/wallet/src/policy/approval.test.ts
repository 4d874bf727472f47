import { generateKeyPairSync, sign } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import fc from 'fast-check';
import { approvalText, parseApprovalText, verifyApproval, type ApprovedPayout } from './approval.ts';

const payout: ApprovedPayout = {
  chain: 'ETH',
  wallet: '0x8c8d35429f74ec245f8ef2f4fd1e551cff97d650' as Address,
  contract: '0xdAC17F958D2ee523a2206206994597C13D831ec7',
  symbol: 'USDT',
  amountBaseUnits: 1_500_000_000n,
  receiver: '0x70997970c51812dc3a010c7d01b50e0d17dc79c8' as Address,
  merchantId: 'shop-1',
  orderPk: '0198c0de-0000-7000-8000-000000000001',
};
const text = approvalText(payout);
const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const publicKeyHex = Buffer.from(publicKey.export({ format: 'jwk' }).x!, 'base64url').toString('hex');
const signature = sign(null, Buffer.from(text), privateKey);

describe('approval text', () => {
  it('writes one canonical text for every spelling of the contract', () => {
    expect(text).toBe(
      '["opentill-payout-approval-v1","ETH","0x8c8d35429f74ec245f8ef2f4fd1e551cff97d650",' +
        '"0xdac17f958d2ee523a2206206994597c13d831ec7","USDT","1500000000",' +
        '"0x70997970c51812dc3a010c7d01b50e0d17dc79c8","shop-1","0198c0de-0000-7000-8000-000000000001"]',
    );
    expect(approvalText({ ...payout, contract: payout.contract!.toUpperCase().replace('0X', '0x') })).toBe(
      text,
    );
    expect(approvalText({ ...payout, contract: null })).toContain(',null,');
  });

  it('parses an approval text back to the same payout', () => {
    expect(parseApprovalText(text)).toEqual({ ...payout, contract: payout.contract!.toLowerCase() });
    expect(parseApprovalText(approvalText({ ...payout, contract: null })).contract).toBeNull();
  });

  it.each([
    '',
    'null',
    '{}',
    '[]',
    ` ${text}`,
    text.replace(',', ', '),
    text.replace('-v1', '-v2'),
    text.replace('"ETH"', '"doge"'),
    text.replace('"1500000000"', '1500000000'),
    text.replace('"1500000000"', '"01500000000"'),
    text.replace('"1500000000"', '"0"'),
    text.replace('0xdac', '0xDac'),
    text.replace('"shop-1"', '"shop\\u001b[2J"'),
    text.replace('"]', '","more"]'),
    text.replace('0198c0de', '0198C0DE'),
  ])('rejects %p', (other) => {
    expect(() => parseApprovalText(other)).toThrow(expect.objectContaining({ code: 'APPROVAL_INVALID' }));
  });
});

describe('payout approval', () => {
  it('verifies an approval with its key and its text', () => {
    expect(verifyApproval(publicKeyHex, text, signature)).toBe(true);
  });

  it.each<[string, Partial<ApprovedPayout>]>([
    ['chain', { chain: 'BSC' }],
    ['wallet', { wallet: payout.receiver }],
    ['contract', { contract: null }],
    ['symbol', { symbol: 'USDC' }],
    ['amount', { amountBaseUnits: 1_500_000_001n }],
    ['receiver', { receiver: payout.wallet }],
    ['merchant', { merchantId: 'shop-2' }],
    ['order', { orderPk: '0198c0de-0000-7000-8000-000000000002' }],
  ])('rejects an approval with another %s', (_, other) => {
    expect(verifyApproval(publicKeyHex, approvalText({ ...payout, ...other }), signature)).toBe(false);
  });

  it('rejects an approval after any bit of its signature or key changed', () => {
    fc.assert(
      fc.property(fc.nat(511), fc.nat(255), (bitOfSignature, bitOfKey) => {
        const otherSignature = Buffer.from(signature);
        otherSignature[bitOfSignature >> 3]! ^= 1 << (bitOfSignature & 7);
        expect(verifyApproval(publicKeyHex, text, otherSignature)).toBe(false);
        const otherKey = Buffer.from(publicKeyHex, 'hex');
        otherKey[bitOfKey >> 3]! ^= 1 << (bitOfKey & 7);
        expect(verifyApproval(otherKey.toString('hex'), text, signature)).toBe(false);
      }),
      { numRuns: 60 },
    );
  });

  it('rejects a malleable signature (s plus the group order) and other lengths', () => {
    const order = 2n ** 252n + 27742317777372353535851937790883648493n;
    const s = BigInt(`0x${Buffer.from(signature.subarray(32)).reverse().toString('hex')}`);
    const second = Buffer.from((s + order).toString(16).padStart(64, '0'), 'hex').reverse();
    expect(verifyApproval(publicKeyHex, text, Buffer.concat([signature.subarray(0, 32), second]))).toBe(
      false,
    );
    for (const length of [0, 63, 65]) {
      const other = Buffer.alloc(length);
      signature.copy(other);
      expect(verifyApproval(publicKeyHex, text, other)).toBe(false);
    }
    expect(verifyApproval(publicKeyHex.toUpperCase(), text, signature)).toBe(false);
    expect(verifyApproval('nonsense', text, signature)).toBe(false);
  });
});
