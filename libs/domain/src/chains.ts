/** The chains of a family share an address format, a reader and a sender. */
export const FAMILIES = ['EVM', 'TRON', 'SUI'] as const;
export type Family = (typeof FAMILIES)[number];

/** Main and test wallets have different keys. */
export const NETWORK_KINDS = ['main', 'test'] as const;
export type NetworkKind = (typeof NETWORK_KINDS)[number];

/**
 * Chains that this version knows; the networks file may define further EVM chains. `chainId` binds EVM signatures to a
 * network (EIP-155): one for a test network is worthless on a main network. `genesisId`: last four bytes of block 0
 * (TRON), digest of checkpoint 0 (SUI); test networks have several.
 */
export const PRESETS = {
  TRON: { family: 'TRON', kind: 'main', genesisId: '0x2b6653dc' },
  TRON_TEST: { family: 'TRON', kind: 'test' },
  ETH: { family: 'EVM', kind: 'main', chainId: 1 },
  ETH_SEPOLIA: { family: 'EVM', kind: 'test', chainId: 11_155_111 },
  BSC: { family: 'EVM', kind: 'main', chainId: 56 },
  BSC_TEST: { family: 'EVM', kind: 'test', chainId: 97 },
  POLYGON: { family: 'EVM', kind: 'main', chainId: 137 },
  POLYGON_AMOY: { family: 'EVM', kind: 'test', chainId: 80_002 },
  AVAX_C_CHAIN: { family: 'EVM', kind: 'main', chainId: 43_114 },
  AVAX_FUJI_TEST: { family: 'EVM', kind: 'test', chainId: 43_113 },
  BASE: { family: 'EVM', kind: 'main', chainId: 8_453 },
  BASE_SEPOLIA: { family: 'EVM', kind: 'test', chainId: 84_532 },
  ARBITRUM: { family: 'EVM', kind: 'main', chainId: 42_161 },
  ARBITRUM_SEPOLIA: { family: 'EVM', kind: 'test', chainId: 421_614 },
  OPTIMISM: { family: 'EVM', kind: 'main', chainId: 10 },
  OPTIMISM_SEPOLIA: { family: 'EVM', kind: 'test', chainId: 11_155_420 },
  SUI: { family: 'SUI', kind: 'main', genesisId: '4btiuiMPvEENsttpZC7CZ53DruC3MAgfznDbASZ7DR6S' },
  SUI_TEST: { family: 'SUI', kind: 'test' },
} as const satisfies Record<string, Preset>;

export interface Preset {
  readonly family: Family;
  readonly kind: NetworkKind;
  readonly chainId?: number;
  readonly genesisId?: string;
}

export type PresetChain = keyof typeof PRESETS;
export const PRESET_CHAINS = Object.keys(PRESETS) as readonly PresetChain[];

declare const configured: unique symbol;
/** Name of an EVM chain that only the networks file defines. */
export type ConfiguredChain = string & { readonly [configured]: true };
export type Chain = PresetChain | ConfiguredChain;

/** Also part of names of environment variables (`<CHAIN>_RPC_URLS`). */
export const CHAIN_PATTERN = '^[A-Z][A-Z0-9_]{1,31}$';
const CHAIN_NAME = new RegExp(CHAIN_PATTERN);

/** Checks the form only. The networks file says which chains exist. */
export function isChain(value: unknown): value is Chain {
  return typeof value === 'string' && CHAIN_NAME.test(value);
}

export function presetOf(chain: Chain): Preset | undefined {
  return Object.hasOwn(PRESETS, chain) ? PRESETS[chain as PresetChain] : undefined;
}

/** The preset of an EIP-155 chain id, with its name. */
export function presetOfChainId(chainId: number | undefined): readonly [PresetChain, Preset] | undefined {
  const presets = Object.entries(PRESETS) as [PresetChain, Preset][];
  return chainId === undefined ? undefined : presets.find(([, preset]) => preset.chainId === chainId);
}

/** Every chain that is not a preset is an EVM chain: the other families have no chains by configuration. */
export function familyOf(chain: Chain): Family {
  return presetOf(chain)?.family ?? 'EVM';
}
