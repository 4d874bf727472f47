import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Family } from '@opentill/domain/chains';
import { createApproverKey } from '@opentill/wallet/policy/approver-key';
import { sealPolicy } from '@opentill/wallet/policy/sealed-policy';
import { readPublicKeys } from '@opentill/wallet/public-keys';
import { LOCAL_CODECS, type WalletFiles } from './prepare-keys.ts';
import type { LocalSecrets, StateDirectory } from './state-directory.ts';
import { allNetworks, type LocalNetworks } from './write-networks.ts';

export interface PolicyFiles {
  readonly policyFile: string;
  readonly approverKeyFile: string;
  readonly approverPassphraseFile: string;
}

/** Display units of every token. Low, so that a first try reaches it. */
export const APPROVAL_ABOVE = '5000';
const LIMITS = {
  maxPerPayout: '100000',
  maxPerHour: '500000',
  maxPerDay: '1000000',
  maxPerMerchantPerDay: '1000000',
  approvalAbove: APPROVAL_ABOVE,
} as const;
/** Denied, so that a refusal can be tried. Money sent there is lost. */
export const DENIED_RECEIVER = '0x000000000000000000000000000000000000dEaD';

/**
 * Sweep terms with invented prices and a cost share high enough for small orders. Money waits an hour, or for
 * `opentill sweep run`. The cold address is anvil's tenth account, whose key is public; the key of SUI's is unknown.
 * TRON may use own stake and a seller.
 */
const SWEEPS: Readonly<Partial<Record<Family, object>>> = {
  SUI: {
    coldAddress: '0xc01dc01dc01dc01dc01dc01dc01dc01dc01dc01dc01dc01dc01dc01dc01dc01d',
    sweep: { nativePrice: '3', maxTopUp: '0.1', maxNativePerDay: '10', maxCostShare: '0.5' },
  },
  EVM: {
    coldAddress: '0xa0Ee7A142d267C1f36714E4a8F75612F20a79720',
    sweep: { nativePrice: '600', maxTopUp: '0.01', maxNativePerDay: '1', maxCostShare: '0.5' },
  },
  TRON: {
    coldAddress: 'TQe8oR3LibG2EHCMUe6WgvHXhAVpRLizBz',
    sweep: {
      nativePrice: '0.3',
      maxTopUp: '60',
      maxNativePerDay: '3000',
      maxCostShare: '0.5',
      stake: true,
      rent: true,
    },
  },
};

export function policyFilesIn({ keys }: Pick<StateDirectory, 'keys'>): PolicyFiles {
  return {
    policyFile: join(keys, 'policy.sealed.json'),
    approverKeyFile: join(keys, 'approver-key.json'),
    approverPassphraseFile: join(keys, 'approver-passphrase'),
  };
}

/** Keeps a policy that is sealed for the same text and networks. The first run creates the approver's key. */
export async function preparePolicy(
  directory: StateDirectory,
  secrets: LocalSecrets,
  { publicKeysFile }: WalletFiles,
  localNetworks: LocalNetworks,
): Promise<PolicyFiles> {
  const networks = allNetworks(localNetworks);
  const files = policyFilesIn(directory);
  const { policyFile } = files;
  const digestFile = join(directory.keys, 'policy.sealed-for');
  const publicKey = await prepareApprover(files, secrets);
  const { fingerprint } = await readPublicKeys(publicKeysFile, LOCAL_CODECS);
  const text = JSON.stringify(localPolicy(localNetworks, publicKey), null, 2);
  const sealed = networks.map(({ chain, chainId, genesisId, payouts, tokens }) => ({
    chain,
    chainId,
    genesisId,
    payouts,
    tokens,
  }));
  const sealedFor = createHash('sha256').update(JSON.stringify({ text, sealed, fingerprint })).digest('hex');
  if (existsSync(policyFile) && existsSync(digestFile) && readFileSync(digestFile, 'utf8') === sealedFor)
    return files;
  writeFileSync(join(directory.keys, 'policy.json'), text, { mode: 0o600 }); // readable copy
  const passphrase = secrets.keystorePassphrase;
  const surroundings = { networks, codecs: LOCAL_CODECS, policyFile, fingerprint, passphrase };
  await sealPolicy({ ...surroundings, text, now: new Date() });
  writeFileSync(digestFile, sealedFor, { mode: 0o600 });
  return files;
}

/** Returns the public key. */
async function prepareApprover(
  { approverKeyFile, approverPassphraseFile }: PolicyFiles,
  secrets: LocalSecrets,
): Promise<string> {
  writeFileSync(approverPassphraseFile, `${secrets.approverPassphrase}\n`, { mode: 0o600 });
  return existsSync(approverKeyFile)
    ? (JSON.parse(readFileSync(approverKeyFile, 'utf8')) as { keyId: string }).keyId // the unencrypted part
    : createApproverKey(approverKeyFile, secrets.approverPassphrase);
}

function localPolicy(networks: LocalNetworks, approver: string): object {
  const chains = allNetworks(networks).map((network) => {
    const { chain, family, tokens } = network;
    const assets = Object.fromEntries(tokens.map(({ symbol }) => [symbol, LIMITS]));
    const sweeps = networks.given.includes(network) ? {} : SWEEPS[family];
    return [chain, { enabled: true, ...sweeps, assets }] as const;
  });
  return {
    version: 1,
    chains: Object.fromEntries(chains),
    deny: [{ family: 'EVM', address: DENIED_RECEIVER, note: 'its key is unknown' }],
    approvers: [{ name: 'local', publicKey: approver }],
    approvalsRequired: 1,
  };
}
