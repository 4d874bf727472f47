/** The chain families: a family shares an address format, a reader and a sender. */
export const FAMILIES = ['EVM', 'TRON', 'SUI'] as const;
export type Family = (typeof FAMILIES)[number];

/** The twelve chain values of the API and the family of each (seed.md 2.3). */
export const CHAINS = {
  TRON: { family: 'TRON', network: 'main' },
  TRON_TEST: { family: 'TRON', network: 'test' },
  ETH: { family: 'EVM', network: 'main' },
  ETH_SEPOLIA: { family: 'EVM', network: 'test' },
  BSC: { family: 'EVM', network: 'main' },
  BSC_TEST: { family: 'EVM', network: 'test' },
  POLYGON: { family: 'EVM', network: 'main' },
  POLYGON_AMOY: { family: 'EVM', network: 'test' },
  AVAX_C_CHAIN: { family: 'EVM', network: 'main' },
  AVAX_FUJI_TEST: { family: 'EVM', network: 'test' },
  SUI: { family: 'SUI', network: 'main' },
  SUI_TEST: { family: 'SUI', network: 'test' },
} as const satisfies Record<string, { family: Family; network: 'main' | 'test' }>;

export type Chain = keyof typeof CHAINS;
export const CHAIN_VALUES = Object.keys(CHAINS) as readonly Chain[];

/** Whether `value` is one of the twelve chain values, spelled exactly. */
export function isChain(value: unknown): value is Chain {
  return typeof value === 'string' && Object.hasOwn(CHAINS, value);
}

/** The family that a chain belongs to. */
export function familyOf(chain: Chain): Family {
  return CHAINS[chain].family;
}
