import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { evmAddressCodec } from '@opentill/chain-evm/address';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { replaceKeystore } from '../keystore.ts';
import { nextFileOf } from '../open-keystore-with-recovery.ts';
import { createApproverKey, signApproval } from './approver-key.ts';
import { approvalText, verifyApproval } from './approval.ts';
import type { PolicyPayout } from './policy.ts';
import { openPolicy, sealPolicy, type OpenPolicyOptions } from './sealed-policy.ts';

const PASSPHRASE = 'correct horse battery';
const COST = 2; // keystore.test.ts has the real one
const NOW = new Date('2026-11-21T12:00:00Z');
const limits = { maxPerPayout: '5', maxPerHour: '5', maxPerDay: '5', maxPerMerchantPerDay: '5' };
const text = JSON.stringify({ version: 1, chains: { ETH: { enabled: true, assets: { USDT: limits } } } });
const PAYOUTS = { maxOpenNonces: 1, minPriorityFeePerGas: '1', bumpAfterSeconds: 60 };
const CAPS = { maxPriorityFeePerGas: '3', maxFeePerGas: '100' };
const networksWith = (changes: object, ofNetwork: object = {}) => {
  const token = {
    symbol: 'USDT',
    contract: `0x${'A'.repeat(40)}`,
    decimals: 6,
    displayDecimals: 2,
    ...changes,
  };
  const payouts = { ...PAYOUTS, ...CAPS };
  const network = { chain: 'ETH', family: 'EVM', chainId: 1, tokens: [token], payouts, ...ofNetwork };
  return [network] as unknown as readonly NetworkConfig[];
};

let dir: string;
let options: OpenPolicyOptions;
let digest: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'wallet-'));
  options = {
    policyFile: join(dir, 'policy.sealed'),
    passphrase: PASSPHRASE,
    fingerprint: '16a93ed0',
    networks: networksWith({}),
    codecs: [evmAddressCodec],
    cost: COST,
  };
  digest = await sealPolicy({ ...options, text, now: NOW });
});
afterAll(() => rm(dir, { recursive: true }));

describe('sealed policy', () => {
  it('opens a policy for its seed, with the digest that sealing printed', async () => {
    const opened = await openPolicy(options);
    expect(opened).toMatchObject({ text, digest, sealedAt: NOW });
    expect(digest).toMatch(/^[0-9a-f]{64}$/);
    expect(opened.policy.chains.get('ETH')?.assets.get('USDT')).toMatchObject({
      maxPerPayoutBaseUnits: 5_000_000n,
    });
    expect((await stat(options.policyFile)).mode & 0o777).toBe(0o600);
    expect(await readFile(options.policyFile, 'utf8')).not.toContain('maxPer');
  });

  it('rejects a policy after a change of seed, chain, fee or token', async () => {
    const refusals: [Partial<OpenPolicyOptions>, object][] = [
      [{ fingerprint: 'ffffffff' }, { code: 'POLICY_OF_ANOTHER_SEED' }],
      [
        { networks: networksWith({ decimals: 5, contract: `0x${'b'.repeat(40)}` }) },
        { code: 'POLICY_INVALID', message: /had ETH USDT 0xa{40} with 6 decimals when it was sealed/ },
      ],
      [
        { networks: networksWith({}, { chainId: 11_155_111 }) },
        { code: 'POLICY_INVALID', message: /had ETH with chain id 1 when it was sealed/ },
      ],
      ...[
        { maxPriorityFeePerGas: '3', maxFeePerGas: '101' },
        { maxPriorityFeePerGas: '4', maxFeePerGas: '100' },
      ].map((caps): [Partial<OpenPolicyOptions>, object] => [
        { networks: networksWith({}, { payouts: { ...PAYOUTS, ...caps } }) },
        {
          code: 'POLICY_INVALID',
          message: /had ETH with payouts for maxFeePerGas 100 and maxPriorityFeePerGas 3 when it was sealed/,
        },
      ]),
    ];
    refusals.push([
      { networks: networksWith({}, { payouts: { ...PAYOUTS, ...CAPS, maxGas: 1_000_001 } }) },
      { code: 'POLICY_INVALID', message: /had ETH with payouts of at most 1000000 gas when it was sealed/ },
    ]);
    const outcomes = await Promise.all(
      refusals.map(async ([change, expected]) => {
        const error = (await openPolicy({ ...options, ...change }).catch(
          (refusal: unknown) => refusal,
        )) as Error;
        const { message } = expected as { message?: RegExp };
        return [error, { ...expected, ...(message && { message: expect.stringMatching(message) }) }] as const;
      }),
    );
    for (const [error, expected] of outcomes) expect(error).toMatchObject(expected);
  });

  it('opens a policy sealed before gas and attempts were kept, with safe defaults', async () => {
    const surroundings = [
      'ETH with chain id 1',
      'ETH with payouts for maxFeePerGas 100 and maxPriorityFeePerGas 3',
      `ETH USDT 0x${'a'.repeat(40)} with 6 decimals`,
    ];
    const sealed = { version: 2, sealedAt: NOW.toISOString(), surroundings, text };
    const secret = Buffer.from(JSON.stringify(sealed));
    const policyFile = join(dir, 'before.sealed');
    const contents = { purpose: 'policy', keyId: options.fingerprint, secret } as const;
    await replaceKeystore(policyFile, contents, PASSPHRASE, COST);
    const networks = networksWith({}, { payouts: { ...PAYOUTS, ...CAPS, maxGas: 16_000_000 } });
    const opened = await openPolicy({ ...options, policyFile, networks });
    expect([...opened.gasCaps]).toEqual([['ETH', 300_000]]);
    expect(opened.policy.maxAttemptsWithoutDecision).toBe(2);
    expect([...(await openPolicy(options)).gasCaps]).toEqual([]);
  });

  it('replaces a sealed policy, but not for an invalid one or one of another purpose', async () => {
    const before = await readFile(options.policyFile, 'utf8');
    await expect(sealPolicy({ ...options, text: '{}', now: NOW })).rejects.toMatchObject({
      code: 'POLICY_INVALID',
    });
    expect(await readFile(options.policyFile, 'utf8')).toBe(before);
    await chmod(options.policyFile, 0o640); // must stay readable for an orchestrator's group
    const next = await sealPolicy({ ...options, text: text.replace('"5"', '"6"'), now: NOW });
    expect(next).not.toBe(digest);
    expect(await openPolicy(options)).toMatchObject({ digest: next });
    expect((await stat(options.policyFile)).mode & 0o777).toBe(0o640);
    expect((await readdir(dir)).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  });

  it('rejects every other passphrase with any contents of the .next file', async () => {
    await writeFile(nextFileOf(options.policyFile), 'what is this', { mode: 0o600 });
    await expect(openPolicy({ ...options, passphrase: 'another passphrase' })).rejects.toMatchObject({
      code: 'KEYSTORE_WRONG_PASSPHRASE',
      message: expect.not.stringContaining('.next'),
    });
  });
});

describe('key of an approver', () => {
  const payout = {
    chain: 'ETH',
    wallet: `0x${'1'.repeat(40)}`,
    contract: null,
    symbol: 'ETH',
    amountBaseUnits: 5n,
    receiver: `0x${'2'.repeat(40)}`,
    merchantId: 'shop',
    orderPk: '0198c0de-0000-7000-8000-000000000001',
  } as unknown as PolicyPayout;

  it('signs approvals only, and does not open as a policy', async () => {
    const keyFile = join(dir, 'alice.key');
    const publicKey = await createApproverKey(keyFile, PASSPHRASE, COST);
    const toSign = approvalText(payout);
    const { approver, signature } = await signApproval(keyFile, PASSPHRASE, toSign, COST);
    expect(approver).toBe(publicKey);
    expect(verifyApproval(publicKey, toSign, signature)).toBe(true);
    await expect(signApproval(keyFile, PASSPHRASE, 'something else', COST)).rejects.toMatchObject({
      code: 'APPROVAL_INVALID',
    });
    await expect(sealPolicy({ ...options, policyFile: keyFile, text, now: NOW })).rejects.toMatchObject({
      code: 'KEYSTORE_WRONG_PURPOSE',
    });
    await expect(createApproverKey(keyFile, PASSPHRASE, COST)).rejects.toMatchObject({ code: 'FILE_EXISTS' });
    expect(await readFile(keyFile, 'utf8')).toContain(publicKey);
  });
});
