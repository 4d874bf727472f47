import { readFile } from 'node:fs/promises';
import { familyOf, NETWORK_KINDS } from '@opentill/domain/chains';
import { openKeystore } from '@opentill/wallet/keystore';
import { parsePolicy, type PolicyContext } from '@opentill/wallet/policy/parse-policy';
import type { Policy } from '@opentill/wallet/policy/policy';
import { openPolicy, sealPolicy, type OpenPolicyOptions } from '@opentill/wallet/policy/sealed-policy';
import { publicKeysOf, type PublicKeys } from '@opentill/wallet/public-keys';
import { cliError, usage, type CliContext } from '../../context.ts';
import { FAMILY_CODECS } from '../../families.ts';
import { readNetworks } from '../../read-networks.ts';
import { askPassphrase } from '../keys/ask-passphrase.ts';
import { policyLines } from './print-policy.ts';

export interface SealPolicyOptions {
  readonly keystore: string;
  readonly out: string;
  readonly passphraseFile?: string;
  readonly networksFile?: string;
}

/** The network file gives the decimals of the policy's amounts. */
async function readSurroundings(
  context: CliContext,
  networksFile: string | undefined,
): Promise<PolicyContext> {
  return { networks: await readNetworks(context, networksFile), codecs: FAMILY_CODECS };
}

async function readPolicy(context: CliContext, file: string, networksFile: string | undefined) {
  const surroundings = await readSurroundings(context, networksFile);
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw cliError('CLI_USAGE', `${file} cannot be read.`, { cause });
  });
  return { surroundings, text, policy: parsePolicy(text, surroundings) };
}

/** Needs no keys. @throws GatewayError POLICY_INVALID with all errors */
export async function checkPolicy(
  context: CliContext,
  file: string,
  options: { readonly networksFile?: string },
): Promise<void> {
  const { policy } = await readPolicy(context, file, options.networksFile);
  for (const line of policyLines(policy, context.clock.now())) context.print(line);
}

/** Replaces an older policy. @throws GatewayError POLICY_INVALID before it asks for the passphrase */
export async function sealPolicyFile(
  context: CliContext,
  file: string,
  options: SealPolicyOptions,
): Promise<void> {
  const { surroundings, text, policy } = await readPolicy(context, file, options.networksFile);
  const passphrase = await askPassphrase(context, options.passphraseFile);
  const { keystoreCost: cost } = context;
  const { secret } = await openKeystore(options.keystore, 'seed', passphrase, cost);
  const publicKeys = publicKeysOf(secret, surroundings.codecs);
  secret.fill(0);
  refuseHotAsCold(policy, publicKeys);
  const { fingerprint } = publicKeys;
  const where = { policyFile: options.out, fingerprint, passphrase, cost, ...surroundings };
  const digest = await sealPolicy({ ...where, text, now: context.clock.now() });
  printSealed(context, policy, where, digest);
  context.print('payout-signer reads it at start-up and logs this digest.');
}

export async function showPolicy(
  context: CliContext,
  policyFile: string,
  options: Omit<SealPolicyOptions, 'out'>,
): Promise<void> {
  const surroundings = await readSurroundings(context, options.networksFile);
  const passphrase = await askPassphrase(context, options.passphraseFile);
  const { keystoreCost: cost } = context;
  const { secret, keyId } = await openKeystore(options.keystore, 'seed', passphrase, cost);
  secret.fill(0);
  const where = { policyFile, fingerprint: keyId, passphrase, cost, ...surroundings };
  const { policy, digest, sealedAt } = await openPolicy(where);
  printSealed(context, policy, where, digest);
  context.print(`Sealed at ${sealedAt.toISOString()}.`);
}

function refuseHotAsCold({ chains }: Policy, keys: PublicKeys): void {
  for (const [chain, { coldAddress }] of chains) {
    const isHot = NETWORK_KINDS.some((kind) =>
      keys[kind]?.[familyOf(chain)].hotWallets.some((address) => address === coldAddress),
    );
    if (!isHot) continue;
    const message = `The cold address of ${chain} is the hot wallet of this seed. Name an address of other keys.`;
    throw usage(message);
  }
}

function printSealed(context: CliContext, policy: Policy, where: OpenPolicyOptions, digest: string): void {
  for (const line of policyLines(policy, context.clock.now())) context.print(line);
  context.print(`Policy ${where.policyFile} for the wallet ${where.fingerprint}, digest ${digest}.`);
}
