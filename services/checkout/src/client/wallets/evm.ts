import { chainIdOf, dueAmount, type PayableOrder } from '../../view/checkout-order.ts';
import { isRefusal, type WalletOutcome } from './wallet.ts';

/** EIP-1193. */
export interface EvmProvider {
  request(call: { readonly method: string; readonly params?: readonly unknown[] }): Promise<unknown>;
}

export interface EvmTransfer {
  readonly to: string;
  readonly value: string;
  readonly data?: string;
}

const ADDRESS = /^0x[0-9a-f]{40}$/i;
/** transfer(address,uint256) of ERC-20. */
const TRANSFER_SELECTOR = '0xa9059cbb';

export function evmTransfer(order: PayableOrder): EvmTransfer | undefined {
  const { baseUnits } = dueAmount(order);
  const { address, contractAddress } = order;
  if (!ADDRESS.test(address)) return undefined;
  if (contractAddress === null) return { to: address, value: hex(baseUnits) };
  if (!ADDRESS.test(contractAddress)) return undefined;
  const word = (digits: string) => digits.padStart(64, '0');
  const data = `${TRANSFER_SELECTOR}${word(address.slice(2).toLowerCase())}${word(baseUnits.toString(16))}`;
  return { to: contractAddress, value: '0x0', data };
}

/** The transaction contains the chain id: a wallet that changes chains meanwhile rejects it. */
export async function payWithEvmWallet(provider: EvmProvider, order: PayableOrder): Promise<WalletOutcome> {
  const transfer = evmTransfer(order);
  const id = chainIdOf(order);
  if (transfer === undefined || id === null) return { outcome: 'UNABLE' };
  const chainId = hex(BigInt(id));
  const from = await accountOf(provider);
  if (typeof from !== 'string') return from;
  try {
    if (!(await isOn(provider, chainId))) {
      await provider.request({ method: 'wallet_switchEthereumChain', params: [{ chainId }] });
      if (!(await isOn(provider, chainId))) return { outcome: 'WRONG_NETWORK' };
    }
  } catch (error) {
    // Declining the switch is a refusal too. An unknown chain is another error.
    return { outcome: isRefusal(error) ? 'REFUSED' : 'WRONG_NETWORK' };
  }
  try {
    const sent = { from, chainId, ...transfer };
    const hash = await provider.request({ method: 'eth_sendTransaction', params: [sent] });
    return typeof hash === 'string' ? { outcome: 'SENT', transaction: hash } : { outcome: 'SENT' };
  } catch (error) {
    return { outcome: isRefusal(error) ? 'REFUSED' : 'FAILED' };
  }
}

async function accountOf(provider: EvmProvider): Promise<string | WalletOutcome> {
  try {
    const accounts = await provider.request({ method: 'eth_requestAccounts' });
    const [account] = Array.isArray(accounts) ? (accounts as unknown[]) : [];
    return typeof account === 'string' ? account : { outcome: 'NOT_READY' };
  } catch (error) {
    return { outcome: isRefusal(error) ? 'REFUSED' : 'NOT_READY' };
  }
}

/** Asks the wallet's node. A hash belongs to only one chain. */
export async function hasFailedOnEvm(provider: EvmProvider, transaction: string): Promise<boolean> {
  try {
    const call = { method: 'eth_getTransactionReceipt', params: [transaction] };
    const receipt = (await provider.request(call)) as { readonly status?: unknown } | null;
    return receipt?.status === '0x0';
  } catch {
    return false;
  }
}

async function isOn(provider: EvmProvider, chainId: string): Promise<boolean> {
  const current = await provider.request({ method: 'eth_chainId' });
  return typeof current === 'string' && Number(current) === Number(chainId);
}

function hex(value: bigint): string {
  return `0x${value.toString(16)}`;
}
