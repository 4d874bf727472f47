import { getCreateAddress } from 'ethers';
import { GatewayError } from '@opentill/domain/gateway-error';
import { contractInterface, creationCode, type ContractName } from './contract-artifacts.ts';
import { DEPLOYER_INDEX, devAccount, RICH_ACCOUNT_INDEXES } from './accounts.ts';
import { sendTransaction, waitForReceipt, type EvmReceipt } from './transactions.ts';
import { callRpc, callRpcBatch } from './json-rpc.ts';

/** `TOKENS_NOT_DEPLOYABLE`: account 0 was already used, so tokens cannot get their fixed addresses. */
export type EvmDevnetErrorCode = 'TOKENS_NOT_DEPLOYABLE' | 'CONTRACT_NOT_DEPLOYED';

/** The same on every devnet, because account 0 creates the tokens with nonces 0 and 1. */
export const DEV_TOKEN_ADDRESSES = {
  USDT: getCreateAddress({ from: devAccount(DEPLOYER_INDEX).address, nonce: 0 }),
  USDC: getCreateAddress({ from: devAccount(DEPLOYER_INDEX).address, nonce: 1 }),
} as const;

export interface DevTokensOptions {
  readonly rpcUrl: string;
  readonly usdtDecimals: number;
  readonly usdcDecimals: number;
}

const RICH_TOKENS = 1_000_000_000n;
const SUPPLY_TOKENS = 1_000_000_000_000n;
const DEPLOY_GAS_LIMIT = 5_000_000n;

/** Deploys the tokens and funds accounts 0 to 4, unless both contracts exist. Mines a block. */
export async function deployDevTokens(options: DevTokensOptions): Promise<typeof DEV_TOKEN_ADDRESSES> {
  const { rpcUrl } = options;
  const deployer = devAccount(DEPLOYER_INDEX);
  const [usdtCode, usdcCode, count] = (await callRpcBatch(rpcUrl, [
    { method: 'eth_getCode', params: [DEV_TOKEN_ADDRESSES.USDT, 'latest'] },
    { method: 'eth_getCode', params: [DEV_TOKEN_ADDRESSES.USDC, 'latest'] },
    { method: 'eth_getTransactionCount', params: [deployer.address, 'pending'] },
  ])) as [string, string, string];
  if (usdtCode !== '0x' && usdcCode !== '0x') return DEV_TOKEN_ADDRESSES;
  if (Number(count) !== 0) {
    throw new GatewayError<EvmDevnetErrorCode>(
      'TOKENS_NOT_DEPLOYABLE',
      `The devnet at ${rpcUrl} was used before its tokens were deployed: start it afresh.`,
      { retryable: false, context: { rpcUrl, count } },
    );
  }
  const transactions = tokenTransactions(options);
  const txids: string[] = [];
  for (const [nonce, { to, data }] of transactions.entries()) {
    const request = { rpcUrl, fromKey: deployer.privateKey, to, data, nonce, gasLimit: DEPLOY_GAS_LIMIT };
    txids.push(await sendTransaction(request));
  }
  await mine({ rpcUrl, blocks: 1 });
  for (const txid of txids) requireSuccess(await waitForReceipt(rpcUrl, txid), 'a test token');
  return DEV_TOKEN_ADDRESSES;
}

function tokenTransactions(options: DevTokensOptions): { to: string | null; data: string }[] {
  const usdt = ['TetherLike', 'Tether USD', 'USDT', options.usdtDecimals] as const;
  const usdc = ['UsdcLike', 'USD Coin', 'USDC', options.usdcDecimals] as const;
  const creations = [usdt, usdc].map(([contract, name, symbol, decimals]) => ({
    to: null,
    data: creationCode(contract, [decimals, name, symbol, SUPPLY_TOKENS * 10n ** BigInt(decimals)]),
  }));
  const gifts = [usdt, usdc].flatMap(([, , symbol, decimals]) =>
    RICH_ACCOUNT_INDEXES.filter((index) => index !== DEPLOYER_INDEX).map((index) => ({
      to: DEV_TOKEN_ADDRESSES[symbol],
      data: transferData(devAccount(index).address, RICH_TOKENS * 10n ** BigInt(decimals)),
    })),
  );
  return [...creations, ...gifts];
}

/** Waits for the block and returns the contract's address. Throws GatewayError<EvmDevnetErrorCode>. */
export async function deployContract(request: {
  readonly rpcUrl: string;
  readonly fromKey: string;
  readonly contract: ContractName;
  readonly constructorArguments?: readonly unknown[];
}): Promise<string> {
  const { rpcUrl, fromKey, contract } = request;
  const data = creationCode(contract, request.constructorArguments ?? []);
  const txid = await sendTransaction({ rpcUrl, fromKey, to: null, data, gasLimit: DEPLOY_GAS_LIMIT });
  const receipt = requireSuccess(await waitForReceipt(rpcUrl, txid), contract);
  return receipt.contractAddress ?? '';
}

export async function callContract(request: {
  readonly rpcUrl: string;
  readonly fromKey: string;
  readonly contract: ContractName;
  readonly address: string;
  readonly method: string;
  readonly methodArguments?: readonly unknown[];
  readonly valueWei?: bigint;
  readonly gasLimit?: bigint;
}): Promise<string> {
  const { contract, address, method, methodArguments, ...rest } = request;
  const data = contractInterface(contract).encodeFunctionData(method, methodArguments ?? []);
  return sendTransaction({ ...rest, to: address, data });
}

/** Returns the transaction hash without waiting for a block. */
export async function payToken(payment: {
  readonly rpcUrl: string;
  readonly token: string;
  readonly fromKey: string;
  readonly to: string;
  readonly amountBaseUnits: bigint;
}): Promise<string> {
  const { rpcUrl, fromKey, token, to, amountBaseUnits } = payment;
  return sendTransaction({ rpcUrl, fromKey, to: token, data: transferData(to, amountBaseUnits) });
}

export async function payNative(payment: {
  readonly rpcUrl: string;
  readonly fromKey: string;
  readonly to: string;
  readonly amountWei: bigint;
}): Promise<string> {
  const { rpcUrl, fromKey, to, amountWei } = payment;
  return sendTransaction({ rpcUrl, fromKey, to, valueWei: amountWei });
}

/** Balance in base units at the head block. */
export async function tokenBalance(rpcUrl: string, token: string, holder: string): Promise<bigint> {
  const data = contractInterface('UsdcLike').encodeFunctionData('balanceOf', [holder]);
  return BigInt(await callRpc<string>(rpcUrl, 'eth_call', [{ to: token, data }, 'latest']));
}

/** Mines blocks at once, with timestamps `intervalSeconds` apart (default 1). */
export async function mine(options: {
  readonly rpcUrl: string;
  readonly blocks: number;
  readonly intervalSeconds?: number;
}): Promise<void> {
  const interval = `0x${(options.intervalSeconds ?? 1).toString(16)}`;
  await callRpc(options.rpcUrl, 'anvil_mine', [`0x${options.blocks.toString(16)}`, interval]);
}

/** Undefined mines a block per transaction; 0 mines only on request (`mine`). */
export async function setBlockTime(rpcUrl: string, seconds: number | undefined): Promise<void> {
  if (seconds === undefined) {
    await callRpc(rpcUrl, 'evm_setIntervalMining', [0]);
    await callRpc(rpcUrl, 'evm_setAutomine', [true]);
    return;
  }
  await callRpc(rpcUrl, 'evm_setAutomine', [false]);
  await callRpc(rpcUrl, 'evm_setIntervalMining', [seconds]);
}

export async function headHeight(rpcUrl: string): Promise<number> {
  return Number(await callRpc<string>(rpcUrl, 'eth_blockNumber', []));
}

/** Replaces the last `depth` blocks. The new ones contain only `replacements`; `blockOffset` 0 is the deepest one. */
export async function reorg(options: {
  readonly rpcUrl: string;
  readonly depth: number;
  readonly replacements?: readonly { readonly rawTransaction: string; readonly blockOffset: number }[];
}): Promise<void> {
  const pairs = (options.replacements ?? []).map(({ rawTransaction, blockOffset }) => [
    rawTransaction,
    blockOffset,
  ]);
  await callRpc(options.rpcUrl, 'anvil_reorg', [options.depth, pairs]);
}

export async function takeSnapshot(rpcUrl: string): Promise<string> {
  return callRpc<string>(rpcUrl, 'evm_snapshot', []);
}

/** Restores the state and removes later blocks, so that the head height decreases. A snapshot works once. */
export async function restoreSnapshot(rpcUrl: string, snapshotId: string): Promise<void> {
  await callRpc(rpcUrl, 'evm_revert', [snapshotId]);
}

export async function dropTransaction(rpcUrl: string, txid: string): Promise<void> {
  await callRpc(rpcUrl, 'anvil_dropTransaction', [txid]);
}

function transferData(to: string, amountBaseUnits: bigint): string {
  return contractInterface('UsdcLike').encodeFunctionData('transfer', [to, amountBaseUnits]);
}

function requireSuccess(receipt: EvmReceipt, what: string): EvmReceipt {
  if (receipt.status === '0x1') return receipt;
  throw new GatewayError<EvmDevnetErrorCode>('CONTRACT_NOT_DEPLOYED', `The creation of ${what} reverted.`, {
    retryable: false,
    context: { txid: receipt.transactionHash },
  });
}
