/** The chains of a family share an address format, a reader and a sender. */
export const FAMILIES = ['EVM', 'TRON', 'SUI'] as const;
export type Family = (typeof FAMILIES)[number];

/**
 * docs/api.md. `chainId` binds EVM signatures to a network (EIP-155): one for a test network is worthless on a main
 * network. `genesisId`: last four bytes of block 0 (TRON), digest of checkpoint 0 (SUI); test networks have several.
 */
export const CHAINS = {
  TRON: { family: 'TRON', network: 'main', genesisId: '0x2b6653dc' },
  TRON_TEST: { family: 'TRON', network: 'test' },
  ETH: { family: 'EVM', network: 'main', chainId: 1 },
  ETH_SEPOLIA: { family: 'EVM', network: 'test', chainId: 11_155_111 },
  BSC: { family: 'EVM', network: 'main', chainId: 56 },
  BSC_TEST: { family: 'EVM', network: 'test', chainId: 97 },
  POLYGON: { family: 'EVM', network: 'main', chainId: 137 },
  POLYGON_AMOY: { family: 'EVM', network: 'test', chainId: 80_002 },
  AVAX_C_CHAIN: { family: 'EVM', network: 'main', chainId: 43_114 },
  AVAX_FUJI_TEST: { family: 'EVM', network: 'test', chainId: 43_113 },
  SUI: { family: 'SUI', network: 'main', genesisId: '4btiuiMPvEENsttpZC7CZ53DruC3MAgfznDbASZ7DR6S' },
  SUI_TEST: { family: 'SUI', network: 'test' },
} as const satisfies Record<
  string,
  { family: Family; network: 'main' | 'test'; chainId?: number; genesisId?: string }
>;

export type Chain = keyof typeof CHAINS;
/** Main and test wallets have different keys. */
export const NETWORK_KINDS = ['main', 'test'] as const;
export type NetworkKind = (typeof NETWORK_KINDS)[number];
export const CHAIN_VALUES = Object.keys(CHAINS) as readonly Chain[];

export function isChain(value: unknown): value is Chain {
  return typeof value === 'string' && Object.hasOwn(CHAINS, value);
}

export function familyOf(chain: Chain): Family {
  return CHAINS[chain].family;
}

export function isTestNetwork(chain: Chain): boolean {
  return CHAINS[chain].network === 'test';
}

export function chainIdOf(chain: Chain): number | undefined {
  const known: { readonly family: Family; readonly chainId?: number } = CHAINS[chain];
  return known.chainId;
}

/** Only the main networks of TRON and SUI have one. */
export function genesisIdOf(chain: Chain): string | undefined {
  const known: { readonly family: Family; readonly genesisId?: string } = CHAINS[chain];
  return known.genesisId;
}
