import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { evmAddressCodec } from '@opentill/chain-evm/address';
import { parseNetworkFile } from '@opentill/contracts/parse-network-file';
import { GatewayError } from '@opentill/domain/gateway-error';
import { openKeystoreSigner } from './keystore-signer.ts';
import { openKeystore, replaceKeystore } from './keystore.ts';
import { parseMnemonic } from './mnemonic.ts';
import { approvalText } from './policy/approval.ts';
import { signApproval } from './policy/approver-key.ts';
import { parsePolicy } from './policy/parse-policy.ts';
import type { PolicyPayout } from './policy/policy.ts';
import { openPolicy } from './policy/sealed-policy.ts';
import { parsePublicKeys, readPublicKeys } from './public-keys.ts';
import { readWordsFile } from './read-words-file.ts';

const WORDS =
  'legal winner thank year wave sausage worth useful legal winner thank year wave sausage worth useful';
const SECRETS = {
  passphrase: 'Xylophon-Quark-7731\n',
  words: WORDS,
  'words in lines': WORDS.replaceAll(' ', '\n'),
  'a key in hex': '4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318',
  'a key as a number': '40883691029376231471562045129617082792468013362318',
  'a secret in JSON': '{"note":1,"SECRETS_KEY":Xylophon-Quark-7731}',
  'half a secret in JSON': '{"passphrase": "Xylophon-Quark-7731',
  'a secret as JSON': '"Xylophon-Quark-7731"',
};
const surroundings = { networks: [], codecs: [evmAddressCodec] };

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'swapped-'));
});
afterAll(() => rm(dir, { recursive: true }));

/** Readers of all configured files. Each receives the contents of another file. */
const READERS: Readonly<Record<string, (path: string, text: string) => unknown>> = {
  'the keystore': (path) => openKeystore(path, 'seed', 'a passphrase of some length'),
  'the keystore of the signer': (path) =>
    openKeystoreSigner({
      keystoreFile: path,
      passphrase: 'a passphrase of some length',
      codecs: [],
      kind: 'main',
    }),
  'the keystore to be replaced': (path) =>
    replaceKeystore(path, { purpose: 'policy', keyId: 'x', secret: Buffer.alloc(1) }, 'a long passphrase'),
  'the sealed policy': (path) =>
    openPolicy({ ...surroundings, policyFile: path, passphrase: 'a passphrase', fingerprint: '16a93ed0' }),
  'the policy': (_path, text) => parsePolicy(text, surroundings),
  'the public keys': (path) => readPublicKeys(path, [evmAddressCodec]),
  'public keys': (_path, text) => parsePublicKeys(text, [evmAddressCodec]),
  'the network file': (_path, text) => parseNetworkFile(text, 'networks.json'),
  "an approver's key": (path) =>
    signApproval(path, 'a passphrase', approvalText({ ...PAYOUT, amountBaseUnits: 1n })),
  'the words, one missing': async (path) => parseMnemonic((await readWordsFile(path)).slice(1)),
};
const PAYOUT = {
  chain: 'ETH',
  wallet: `0x${'1'.repeat(40)}`,
  contract: null,
  symbol: 'ETH',
  receiver: `0x${'2'.repeat(40)}`,
  merchantId: 'shop',
  orderPk: '0198c0de-0000-7000-8000-000000000001',
} as unknown as PolicyPayout;

function piecesOf(secret: string): string[] {
  return secret.match(/[A-Za-z0-9]{5,}/g)?.filter((piece) => !/^(passphrase|SECRETS)$/.test(piece)) ?? [];
}

describe('secret in place of another file', () => {
  const cases = Object.keys(READERS).flatMap((reader) =>
    Object.keys(SECRETS).map((secret) => [reader, secret] as const),
  );
  it.each(cases)(
    'never repeats the secret when a reader gets another file: %s, %s',
    async (reader, secret) => {
      const text = SECRETS[secret as keyof typeof SECRETS];
      const path = join(dir, `${Buffer.from(reader + secret).toString('hex')}`.slice(0, 200));
      await writeFile(path, text, { mode: 0o600 });
      let refusal: unknown;
      try {
        await READERS[reader]?.(path, text);
      } catch (error) {
        refusal = error;
      }
      expect(refusal).toBeInstanceOf(GatewayError);
      // Everything that a log, a terminal or a debugger can show, except the file name.
      const shown = inspect(refusal, { depth: 20, showHidden: true, getters: true }).replaceAll(path, '');
      expect(piecesOf(text).filter((piece) => shown.includes(piece))).toEqual([]);
    },
  );
});
