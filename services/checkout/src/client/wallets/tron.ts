import { dueAmount, type CheckoutOrder } from '../../view/checkout-order.ts';
import { isRefusal, type WalletOutcome } from './wallet.ts';

/** What of TronLink is used (https://docs.tronlink.org, "DApp"). */
export interface TronLink {
  request(call: { readonly method: string }): Promise<unknown>;
  /** False until its owner has let the page in. */
  readonly tronWeb: TronWeb | false | undefined;
}

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
    sendRawTransaction(signed: unknown): Promise<{ readonly result?: boolean }>;
  };
}

const LET_IN = 200;
/** Of the genesis block of the main network; the end of it is what wallets call the chain's id, 0x2b6653dc. */
const MAIN_GENESIS = '00000000000000001ebf88508a03865c71d452e25f4d51194196a1d22b6653dc';
/** Sun. A transfer of USDT to a new address has cost up to a fourth of it. */
const FEE_LIMIT_SUN = 100_000_000;

/** Has TronLink send what is due, on the main network for the main chain and on none other for a test chain. */
export async function payWithTronLink(wallet: TronLink, order: CheckoutOrder): Promise<WalletOutcome> {
  let transaction: unknown;
  let tronWeb: TronWeb;
  try {
    const answer = (await wallet.request({ method: 'tron_requestAccounts' })) as { code?: unknown } | '';
    if (answer === '' || answer?.code !== LET_IN || !wallet.tronWeb) return { outcome: 'REFUSED' };
    tronWeb = wallet.tronWeb;
    const from = tronWeb.defaultAddress.base58;
    if (from === false) return { outcome: 'REFUSED' };
    const { blockID } = await tronWeb.trx.getBlock(0);
    if ((blockID === MAIN_GENESIS) !== (order.chain === 'TRON')) return { outcome: 'WRONG_NETWORK' };
    transaction = await build(tronWeb, order, from);
    if (transaction === undefined) return { outcome: 'UNABLE' };
  } catch (error) {
    return { outcome: isRefusal(error) ? 'REFUSED' : 'UNABLE' };
  }
  try {
    const signed = await tronWeb.trx.sign(transaction);
    const { result } = await tronWeb.trx.sendRawTransaction(signed);
    return { outcome: result === true ? 'SENT' : 'FAILED' };
  } catch (error) {
    return { outcome: isRefusal(error) ? 'REFUSED' : 'FAILED' };
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
