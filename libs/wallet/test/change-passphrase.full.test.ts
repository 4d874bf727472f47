import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { changePassphrase, type PassphraseChangeStep } from '../src/change-passphrase.ts';
import { createKeystore, openKeystore } from '../src/keystore.ts';
import { openKeystoreWithRecovery } from '../src/open-keystore-with-recovery.ts';

const [OLD, NEW, NEWER] = ['the old passphrase', 'the new passphrase', 'the newer passphrase'];
const seed = { purpose: 'seed', keyId: '16a93ed0', secret: Buffer.alloc(64, 5) } as const;
const policy = { purpose: 'policy', keyId: '16a93ed0', secret: Buffer.from('{"a": "policy"}') } as const;

/** Sealed once, because sealing takes 0.5 s. */
let sealed: { readonly keystore: string; readonly policy: string };
let dir: string;
let keystoreFile: string;
let policyFile: string;

beforeAll(async () => {
  const made = await mkdtemp(join(tmpdir(), 'wallet-'));
  await createKeystore(join(made, 'k'), seed, OLD);
  await createKeystore(join(made, 'p'), policy, OLD);
  sealed = {
    keystore: await readFile(join(made, 'k'), 'utf8'),
    policy: await readFile(join(made, 'p'), 'utf8'),
  };
  await rm(made, { recursive: true });
});
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'wallet-'));
  [keystoreFile, policyFile] = [join(dir, 'keystore.json'), join(dir, 'policy.sealed')];
  await writeFile(keystoreFile, sealed.keystore, { mode: 0o600 });
  await writeFile(policyFile, sealed.policy, { mode: 0o600 });
});
afterEach(() => rm(dir, { recursive: true }));

async function change(
  from: string,
  to: string,
  diesAt?: PassphraseChangeStep,
  withPolicy = true,
): Promise<void> {
  const died = new Error('died');
  try {
    await changePassphrase({
      keystoreFile,
      ...(withPolicy && { policyFile }),
      oldPassphrase: from,
      newPassphrase: to,
      onStep: (step) => {
        if (step === diesAt) throw died;
      },
    });
  } catch (error) {
    if (error !== died) throw error;
  }
}

async function passphrasesOfBoth(): Promise<readonly string[]> {
  const candidates = [OLD, NEW, NEWER];
  const opens = await Promise.all(
    candidates.map(async (passphrase) => {
      const opened = await Promise.allSettled([
        openKeystore(keystoreFile, 'seed', passphrase),
        openKeystoreWithRecovery(policyFile, 'policy', passphrase),
      ]);
      const [first, second] = opened.map((one) =>
        one.status === 'fulfilled' ? one.value.secret : undefined,
      );
      return (
        first !== undefined &&
        seed.secret.equals(first) &&
        second !== undefined &&
        policy.secret.equals(second)
      );
    }),
  );
  return candidates.filter((_, place) => opens[place]);
}

const files = async () => (await readdir(dir)).toSorted();

describe('changePassphrase', () => {
  it('seals both files again and leaves no other file', async () => {
    await chmod(keystoreFile, 0o640);
    await change(OLD, NEW);
    expect(await passphrasesOfBoth()).toEqual([NEW]);
    expect((await stat(keystoreFile)).mode & 0o777).toBe(0o640);
    expect((await stat(policyFile)).mode & 0o777).toBe(0o600);
    expect(await files()).toEqual(['keystore.json', 'policy.sealed']);
  });

  it.each<[PassphraseChangeStep, string]>([
    ['SEED_SEALED', OLD],
    ['POLICY_SEALED', OLD],
    ['SEED_IN_PLACE', NEW],
  ])(
    'keeps both files under one passphrase after a crash at %s, and can be repeated',
    async (step, opens) => {
      await change(OLD, NEW, step);
      expect(await passphrasesOfBoth()).toEqual([opens]);
      // The first steps of a second attempt that crashes must not lose data either.
      await change(opens, NEWER, 'SEED_SEALED');
      expect(await passphrasesOfBoth()).toEqual([opens]);
      await change(opens, NEWER);
      expect(await passphrasesOfBoth()).toEqual([NEWER]);
      expect(await files()).toEqual(['keystore.json', 'policy.sealed']);
    },
  );

  it('discards files left by an earlier attempt that failed', async () => {
    await change(OLD, NEW, 'POLICY_SEALED');
    await expect(change(NEW, NEWER)).rejects.toMatchObject({ code: 'KEYSTORE_WRONG_PASSPHRASE' });
    expect(await passphrasesOfBoth()).toEqual([OLD]);
    // The leftover policy must not become the policy later.
    await change(OLD, NEWER, undefined, false);
    await openKeystore(keystoreFile, 'seed', NEWER);
    await openKeystore(policyFile, 'policy', OLD);
    await expect(change(NEWER, NEW)).rejects.toMatchObject({ code: 'KEYSTORE_WRONG_PASSPHRASE' });
    await openKeystore(policyFile, 'policy', OLD);
  });

  it.each([
    ['a wrong passphrase', 'not the passphrase', NEW, 'KEYSTORE_WRONG_PASSPHRASE'],
    ['a short one', OLD, 'short', 'PASSPHRASE_TOO_SHORT'],
  ])('keeps both files with %s', async (_, from, to, code) => {
    await expect(change(from, to)).rejects.toMatchObject({ code });
    expect(await readFile(keystoreFile, 'utf8')).toBe(sealed.keystore);
    expect(await readFile(policyFile, 'utf8')).toBe(sealed.policy);
    expect(await files()).toEqual(['keystore.json', 'policy.sealed']);
  });

  it('keeps both files when another passphrase seals the policy', async () => {
    await rm(policyFile);
    await createKeystore(policyFile, policy, NEWER);
    await expect(change(OLD, NEW)).rejects.toMatchObject({ code: 'KEYSTORE_WRONG_PASSPHRASE' });
    expect(await readFile(keystoreFile, 'utf8')).toBe(sealed.keystore);
  });
});
