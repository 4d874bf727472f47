import { dueAmount, type PayableOrder } from '../../view/checkout-order.ts';
import { isRefusal, type WalletOutcome } from './wallet.ts';

/**
 * https://docs.tronlink.org/plugin-wallet/active-requests. `window.tron` and TIP-6963 announcements are TIP-1193
 * providers; `window.tronLink` is the older interface.
 */
export interface TronWallet {
  request(call: { readonly method: string }): Promise<unknown>;
  /** False until the owner has connected the page. */
  readonly tronWeb?: TronWeb | false;
}

/** TIP-1102: returns the accounts, or an error with code 4001. */
export const REQUEST_ACCOUNTS = 'eth_requestAccounts';
/** Older interface: `{code: 200}`; 4000 while its window is open, 4001 when declined, an empty string when locked. */
export const REQUEST_ACCOUNTS_BEFORE = 'tron_requestAccounts';

interface Parameter {
  readonly type: string;
  readonly value: string;
}

export interface TronWeb {
  readonly defaultAddress: { readonly base58: string | false };
  readonly transactionBuilder: {
    triggerSmartContract(
      contract: string,
      method: string,
      options: { readonly feeLimit: number; readonly callValue: number },
      parameters: readonly Parameter[],
      from: string,
    ): Promise<{ readonly result: { readonly result: boolean }; readonly transaction: unknown }>;
    sendTrx(to: string, amount: number, from: string): Promise<unknown>;
  };
  readonly trx: {
    getBlock(height: number): Promise<{ readonly blockID: string }>;
    sign(transaction: unknown): Promise<unknown>;
    sendRawTransaction(
      signed: unknown,
    ): Promise<{ readonly result?: boolean; readonly code?: unknown; readonly txid?: unknown }>;
    /** Despite its name, the receipt in the newest block; `{}` while no block contains the transaction. */
    getUnconfirmedTransactionInfo(
      txid: string,
    ): Promise<{ readonly id?: unknown; readonly result?: unknown }>;
  };
}

type Account = { readonly tronWeb: TronWeb; readonly from: string };

/** The end of this genesis block's hash is the chain id of wallets, 0x2b6653dc. */
const MAIN_GENESIS = '00000000000000001ebf88508a03865c71d452e25f4d51194196a1d22b6653dc';
/** In sun. A USDT transfer to a new address has cost up to a quarter of it. */
const FEE_LIMIT_SUN = 100_000_000;
/** TronLink throws these when the owner declines to sign: extension, iOS app, Android app. */
const DECLINED: ReadonlySet<unknown> = new Set(['Confirmation declined by user', 'cancel', 'cancle']);
const READY_POLL_MS = 50;
const READY_POLLS = 40;
/** The node already has the transaction: some wallets send what they sign. */
const SENT_BEFORE = 'DUP_TRANSACTION_ERROR';

/** The order's chain TRON requires the main network, a test chain any other. */
export async function payWithTronWallet(
  wallet: TronWallet,
  requestAccounts: typeof REQUEST_ACCOUNTS | typeof REQUEST_ACCOUNTS_BEFORE,
  order: PayableOrder,
): Promise<WalletOutcome> {
  let transaction: unknown;
  const account = await accountOf(wallet, requestAccounts);
  if ('outcome' in account) return account;
  const { tronWeb, from } = account;
  try {
    const { blockID } = await tronWeb.trx.getBlock(0);
    if ((blockID === MAIN_GENESIS) !== (order.chain === 'TRON')) return { outcome: 'WRONG_NETWORK' };
    transaction = await build(tronWeb, order, from);
    if (transaction === undefined) return { outcome: 'UNABLE' };
  } catch {
    return { outcome: 'UNABLE' };
  }
  let signed: unknown;
  try {
    signed = await tronWeb.trx.sign(transaction);
  } catch (error) {
    const message = typeof error === 'object' && error !== null && 'message' in error ? error.message : error;
    return { outcome: isRefusal(error) || DECLINED.has(message) ? 'REFUSED' : 'FAILED' };
  }
  return send(tronWeb, signed);
}

/** A signed transaction may have been sent, regardless of a node's answer. */
async function send({ trx }: TronWeb, signed: unknown): Promise<WalletOutcome> {
  const { txID } = signed as { readonly txID?: unknown };
  try {
    const { result, code } = await trx.sendRawTransaction(signed);
    if (result !== true && code !== SENT_BEFORE) return { outcome: 'FAILED' };
    return typeof txID === 'string' ? { outcome: 'SENT', transaction: txID } : { outcome: 'SENT' };
  } catch {
    return { outcome: 'FAILED' };
  }
}

async function accountOf(wallet: TronWallet, method: string): Promise<Account | WalletOutcome> {
  try {
    const answer = await wallet.request({ method });
    if (method === REQUEST_ACCOUNTS_BEFORE) {
      if (isRefusal(answer)) return { outcome: 'REFUSED' };
      if ((answer as { code?: unknown } | null)?.code !== 200) return { outcome: 'NOT_READY' };
    }
    return (await readyAccount(wallet)) ?? { outcome: 'NOT_READY' };
  } catch (error) {
    return { outcome: isRefusal(error) ? 'REFUSED' : 'NOT_READY' };
  }
}

/** The wallet connects the page, and sets its tronWeb a moment later. */
async function readyAccount(wallet: TronWallet): Promise<Account | undefined> {
  for (let polls = 0; polls < READY_POLLS; polls += 1) {
    const { tronWeb } = wallet;
    const from = tronWeb ? tronWeb.defaultAddress.base58 : false;
    if (tronWeb && from) return { tronWeb, from };
    await new Promise((resolve) => setTimeout(resolve, READY_POLL_MS));
  }
  return undefined;
}

/** Asks the wallet's node. The usual reason is a lack of energy. */
export async function hasFailedOnTron({ tronWeb }: TronWallet, transaction: string): Promise<boolean> {
  if (!tronWeb) return false;
  try {
    const { id, result } = await tronWeb.trx.getUnconfirmedTransactionInfo(transaction);
    return id === transaction && result === 'FAILED';
  } catch {
    return false;
  }
}

async function build({ transactionBuilder }: TronWeb, order: PayableOrder, from: string): Promise<unknown> {
  const { baseUnits } = dueAmount(order);
  const { address, contractAddress } = order;
  if (contractAddress === null) {
    const amountSun = Number(baseUnits);
    return Number.isSafeInteger(amountSun) ? transactionBuilder.sendTrx(address, amountSun, from) : undefined;
  }
  const { result, transaction } = await transactionBuilder.triggerSmartContract(
    contractAddress,
    'transfer(address,uint256)',
    { feeLimit: FEE_LIMIT_SUN, callValue: 0 },
    [
      { type: 'address', value: address },
      { type: 'uint256', value: String(baseUnits) },
    ],
    from,
  );
  return result.result ? transaction : undefined;
}
