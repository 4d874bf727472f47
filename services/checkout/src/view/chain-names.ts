import type { Chain } from '@opentill/domain/chains';

export interface ChainName {
  readonly name: string;
  readonly standard: string;
}

/** Not translated: wallets and exchanges show these names. */
export const CHAIN_NAMES: Readonly<Record<Chain, ChainName>> = {
  TRON: { name: 'TRON', standard: 'TRC-20' },
  TRON_TEST: { name: 'TRON testnet', standard: 'TRC-20' },
  ETH: { name: 'Ethereum', standard: 'ERC-20' },
  ETH_SEPOLIA: { name: 'Ethereum Sepolia testnet', standard: 'ERC-20' },
  BSC: { name: 'BNB Smart Chain', standard: 'BEP-20' },
  BSC_TEST: { name: 'BNB Smart Chain testnet', standard: 'BEP-20' },
  POLYGON: { name: 'Polygon', standard: 'ERC-20' },
  POLYGON_AMOY: { name: 'Polygon Amoy testnet', standard: 'ERC-20' },
  AVAX_C_CHAIN: { name: 'Avalanche C-Chain', standard: 'ERC-20' },
  AVAX_FUJI_TEST: { name: 'Avalanche Fuji testnet', standard: 'ERC-20' },
  SUI: { name: 'Sui', standard: 'Sui' },
  SUI_TEST: { name: 'Sui testnet', standard: 'Sui' },
};

/** `(ERC-20)`; null for a native coin, and when the chain's name already contains it. */
export function tokenKind(chain: Chain, isToken: boolean): string | null {
  const { name, standard } = CHAIN_NAMES[chain];
  return isToken && !name.includes(standard) ? `(${standard})` : null;
}

/** `Ethereum (ERC-20)`. */
export function fullChainName(chain: Chain, isToken: boolean): string {
  const kind = tokenKind(chain, isToken);
  return kind === null ? CHAIN_NAMES[chain].name : `${CHAIN_NAMES[chain].name} ${kind}`;
}
