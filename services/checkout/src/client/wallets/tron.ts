import { dueAmount, type CheckoutOrder } from '../../view/checkout-order.ts';
import { isRefusal, type WalletOutcome } from './wallet.ts';

/**
 * What of TronLink, and of wallets made like it, is used (https://docs.tronlink.org/plugin-wallet/active-requests). As
 * `window.tron`, and announced by TIP-6963, it is the provider of TIP-1193; as `window.tronLink` the one of before.
 */
export interface TronWallet {
  request(call: { readonly method: string }): Promise<unknown>;
  /** False until its owner has let the page in. */
  readonly tronWeb?: TronWeb | false;
}

/** TIP-1102, of the provider of TIP-1193: the accounts, or an error with 4001. */
export const REQUEST_ACCOUNTS = 'eth_requestAccounts';
/** Of before: `{code: 200}`, 4000 while a window of it is open, 4001 for no; an empty string when it is locked. */
export const REQUEST_ACCOUNTS_BEFORE = 'tron_requestAccounts';

interface Parameter {
  readonly type: string;
  readonly value: string;
}

/** What of the tronWeb that TronLink injects is used. */
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
    /** The receipt by the newest block, in spite of its name; `{}` while no block has it. */
    getUnconfirmedTransactionInfo(
      txid: string,
    ): Promise<{ readonly id?: unknown; readonly result?: unknown }>;
  };
}

type Account = { readonly tronWeb: TronWeb; readonly from: string };

/** Of the genesis block of the main network; the end of it is what wallets call the chain's id, 0x2b6653dc. */
const MAIN_GENESIS = '00000000000000001ebf88508a03865c71d452e25f4d51194196a1d22b6653dc';
/** Sun. A transfer of USDT to a new address has cost up to a fourth of it. */
const FEE_LIMIT_SUN = 100_000_000;
/** What TronLink throws as bare words when its owner does not sign: the extension, the app of iOS, the app of Android. */
const DECLINED: ReadonlySet<unknown> = new Set(['Confirmation declined by user', 'cancel', 'cancle']);
const READY_LOOK_MS = 50;
const READY_LOOKS = 40;
/** The node has it already: a wallet that sends by itself what it signs. */
const SENT_BEFORE = 'DUP_TRANSACTION_ERROR';

/** Has TronLink send what is due, on the main network for the main chain and on none other for a test chain. */
export async function payWithTronWallet(
  wallet: TronWallet,
  requestAccounts: typeof REQUEST_ACCOUNTS | typeof REQUEST_ACCOUNTS_BEFORE,
  order: CheckoutOrder,
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

/** Of what is signed nobody knows that it was not sent, whatever a node answers. */
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

/** The account that its owner lets the page know. */
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

/** The wallet lets the page in, and puts its tronWeb there a moment later. */
async function readyAccount(wallet: TronWallet): Promise<Account | undefined> {
  for (let looked = 0; looked < READY_LOOKS; looked += 1) {
    const { tronWeb } = wallet;
    const from = tronWeb ? tronWeb.defaultAddress.base58 : false;
    if (tronWeb && from) return { tronWeb, from };
    await new Promise((resolve) => setTimeout(resolve, READY_LOOK_MS));
  }
  return undefined;
}

/** Whether the wallet's node shows the transaction as failed, which mostly is for want of energy. */
export async function hasFailedOnTron({ tronWeb }: TronWallet, transaction: string): Promise<boolean> {
  if (!tronWeb) return false;
  try {
    const { id, result } = await tronWeb.trx.getUnconfirmedTransactionInfo(transaction);
    return id === transaction && result === 'FAILED';
  } catch {
    return false;
  }
}

async function build({ transactionBuilder }: TronWeb, order: CheckoutOrder, from: string): Promise<unknown> {
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
