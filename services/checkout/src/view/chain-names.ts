import { familyOf } from '@opentill/domain/chains';
import type { CheckoutOrder } from './checkout-order.ts';

const WORD_JOINER = '\u2060';

/** The only source of a chain's name is the gateway's networks file. An older gateway sends no name. */
export function chainNameOf({ chain, chainName }: Pick<CheckoutOrder, 'chain' | 'chainName'>): string {
  return chainName ?? chain;
}

/** `ERC-20`, for a wallet's or an exchange's choice of the network. Null for a native coin, and on SUI. */
export function tokenStandard({
  chain,
  contractAddress,
}: Pick<CheckoutOrder, 'chain' | 'contractAddress'>): string | null {
  if (contractAddress === null) return null;
  return chain === 'BSC' || chain === 'BSC_TEST' ? 'BEP-20' : STANDARDS[familyOf(chain)];
}

const STANDARDS: Readonly<Record<ReturnType<typeof familyOf>, string | null>> = {
  EVM: 'ERC-20',
  TRON: 'TRC-20',
  SUI: null,
};

/** `USDT (ERC-20)`, in one line. */
export function tokenName(order: Pick<CheckoutOrder, 'symbol' | 'chain' | 'contractAddress'>): string {
  const standard = tokenStandard(order);
  if (standard === null) return order.symbol;
  return `${order.symbol}\u00a0(${standard.replaceAll('-', `-${WORD_JOINER}`)})`;
}
