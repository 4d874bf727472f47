import { dirname } from 'node:path';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { SOURCE_RISKS, type SourceRiskKind } from '@opentill/contracts/source-risks';
import type { Family } from '@opentill/domain/chains';
import { GatewayError } from '@opentill/domain/gateway-error';
import { readConfig, type Environment } from '@opentill/runtime/config';
import {
  SERVICE_REQUIRED,
  serviceProperties,
  serviceSettings,
  type ServiceSettings,
  type ServiceVariables,
} from '@opentill/runtime/service-settings';

export interface SignerConfig extends ServiceSettings {
  readonly networksFile: string;
  readonly keystoreFile: string;
  /** Passphrase of the keystore and of the policy. */
  readonly passphraseFile: string;
  /** Public keys from which the api derives deposit addresses. undefined: they are not compared with the keystore. */
  readonly publicKeysFile: string | undefined;
  /** Sealed policy. undefined: no payout is signed, except with profile `local`. */
  readonly policyFile: string | undefined;
  /** `local`: local test networks only; payouts are signed without a policy. */
  readonly profile: 'production' | 'local';
  /** Risks of main networks' sources that the operator accepts. Any other risk prevents the start. */
  readonly sourceRisksAccepted: readonly SourceRiskKind[];
  /** Writable directory for the send marks. Must survive the loss of the database. */
  readonly stateDirectory: string;
  readonly energySellerUrl: string | undefined;
  readonly energySellerKeyFile: string | undefined;
  /** Chains to pay on. undefined: all enabled ones. */
  readonly chains: readonly string[] | undefined;
  readonly inboxKeptSeconds: number;
}

interface Variables extends ServiceVariables {
  readonly NETWORKS_FILE: string;
  readonly KEYSTORE_FILE: string;
  readonly PASSPHRASE_FILE: string;
  readonly PUBLIC_KEYS_FILE?: string;
  readonly POLICY_FILE?: string;
  readonly PROFILE: 'production' | 'local';
  readonly SOURCE_RISKS_ACCEPTED: readonly SourceRiskKind[];
  readonly SIGNER_STATE_DIR?: string;
  readonly ENERGY_SELLER_URL?: string;
  readonly ENERGY_SELLER_KEY_FILE?: string;
  readonly CHAINS?: readonly string[];
  readonly INBOX_KEPT_HOURS: number;
}

export const SIGNER_CONFIG_SCHEMA = {
  required: [...SERVICE_REQUIRED, 'NETWORKS_FILE', 'KEYSTORE_FILE', 'PASSPHRASE_FILE'],
  properties: {
    ...serviceProperties({ healthPort: 3024, databasePoolMax: 8 }),
    NETWORKS_FILE: { type: 'string', minLength: 1 },
    KEYSTORE_FILE: { type: 'string', minLength: 1 },
    PASSPHRASE_FILE: { type: 'string', minLength: 1 },
    PUBLIC_KEYS_FILE: { type: 'string', minLength: 1 },
    POLICY_FILE: { type: 'string', minLength: 1 },
    PROFILE: { type: 'string', enum: ['production', 'local'], default: 'production' },
    SOURCE_RISKS_ACCEPTED: { type: 'array', items: { type: 'string', enum: [...SOURCE_RISKS] }, default: [] },
    SIGNER_STATE_DIR: { type: 'string', minLength: 1 },
    ENERGY_SELLER_URL: { type: 'string', pattern: '^https?://[^\\s]+$' },
    ENERGY_SELLER_KEY_FILE: { type: 'string', minLength: 1 },
    CHAINS: { type: 'array', items: { type: 'string' }, minItems: 1 },
    INBOX_KEPT_HOURS: { type: 'integer', minimum: 1, maximum: 8_760, default: 24 },
  },
} as const;

export function readSignerConfig(env: Environment): SignerConfig {
  const variables = readConfig<Variables>(SIGNER_CONFIG_SCHEMA, env);
  return {
    ...serviceSettings(variables),
    networksFile: variables.NETWORKS_FILE,
    keystoreFile: variables.KEYSTORE_FILE,
    passphraseFile: variables.PASSPHRASE_FILE,
    publicKeysFile: variables.PUBLIC_KEYS_FILE,
    policyFile: variables.POLICY_FILE,
    profile: variables.PROFILE,
    sourceRisksAccepted: variables.SOURCE_RISKS_ACCEPTED,
    stateDirectory: variables.SIGNER_STATE_DIR ?? dirname(variables.KEYSTORE_FILE),
    energySellerUrl: variables.ENERGY_SELLER_URL,
    energySellerKeyFile: variables.ENERGY_SELLER_KEY_FILE,
    chains: variables.CHAINS,
    inboxKeptSeconds: variables.INBOX_KEPT_HOURS * 3_600,
  };
}

export type SelectNetworksErrorCode =
  /** CHAINS names a chain that the networks file does not enable, or whose family has no payouts. */
  'CHAINS_INVALID';

const PAYABLE: readonly Family[] = ['EVM', 'TRON', 'SUI'];

export function selectNetworks(
  networks: readonly NetworkConfig[],
  chains: readonly string[] | undefined,
): readonly NetworkConfig[] {
  const enabled = networks.filter((network) => PAYABLE.includes(network.family) && network.enabled);
  const unknown = (chains ?? []).filter((chain) => !enabled.some((network) => network.chain === chain));
  if (unknown.length > 0) {
    throw new GatewayError<SelectNetworksErrorCode>(
      'CHAINS_INVALID',
      `CHAINS: not an enabled network of the networks file with payouts: ${unknown.join(', ')}. Correct CHAINS.`,
      { retryable: false },
    );
  }
  return enabled.filter((network) => chains?.includes(network.chain) ?? true);
}
