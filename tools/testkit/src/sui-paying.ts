import type { Signer } from '@mysten/sui/cryptography';
import { GrpcWebFetchTransport, SuiGrpcClient } from '@mysten/sui/grpc';
import { Ed25519Keypair } from '@mysten/sui/keypairs/ed25519';
import { Secp256k1Keypair } from '@mysten/sui/keypairs/secp256k1';
import { Transaction } from '@mysten/sui/transactions';
import type { TxHash } from '@opentill/chain/transfer';
import type { SuiDevnet } from '@opentill/devnets/sui/start-sui-devnet';

const GAS_BUDGET_MIST = 50_000_000;

export function suiPayersOf({ accounts }: Pick<SuiDevnet, 'accounts'>): readonly Signer[] {
  return accounts.map(({ scheme, secretKey }) =>
    scheme === 'ED25519'
      ? Ed25519Keypair.fromSecretKey(secretKey)
      : Secp256k1Keypair.fromSecretKey(secretKey),
  );
}

export interface SuiOutput {
  readonly coinType: string;
  readonly to: string;
  readonly amount: bigint;
  /** Pays into the receiver's address balance instead of creating a coin object. */
  readonly intoBalance?: boolean;
}

export interface PayOptions {
  /** The last command fails, which reverts the whole transaction. */
  readonly fails?: boolean;
  /** Without gas, which the chain allows for some coins paid into balances. */
  readonly gasless?: boolean;
}

export interface SuiPaying {
  pay(payer: Signer, outputs: readonly SuiOutput[], options?: PayOptions): Promise<TxHash>;
  again(txHash: TxHash): Promise<void>;
}

/** Each transaction has one sender, spends address balances and is built without the node. */
export function createSuiPaying(devnet: Pick<SuiDevnet, 'url' | 'chainId' | 'chain'>): SuiPaying {
  const client = new SuiGrpcClient({
    network: 'localnet',
    transport: new GrpcWebFetchTransport({ baseUrl: devnet.url, format: 'binary' }),
  });
  const sent = new Map<TxHash, { readonly transaction: Uint8Array; readonly signatures: string[] }>();
  return {
    async pay(payer, outputs, { fails = false, gasless = false } = {}) {
      const transaction = new Transaction();
      transaction.setSender(payer.toSuiAddress());
      transaction.setGasPrice(gasless ? 0 : 500);
      transaction.setGasBudget(gasless ? 0 : GAS_BUDGET_MIST);
      transaction.setGasPayment([]);
      const epoch = String(devnet.chain.epoch.number);
      transaction.setExpiration({
        ValidDuring: {
          minEpoch: epoch,
          maxEpoch: epoch,
          minTimestamp: null,
          maxTimestamp: null,
          chain: devnet.chainId,
          nonce: sent.size,
        },
      });
      for (const output of outputs) addOutput(transaction, output);
      if (fails) {
        const [last] = outputs;
        const coin = transaction.coin({ type: last!.coinType, balance: 1n });
        const [tooMuch] = transaction.splitCoins(coin, [2n]);
        transaction.transferObjects([coin, tooMuch!], payer.toSuiAddress());
      }
      const bytes = await transaction.build({ assumeSufficientAddressBalances: true } as never);
      const { signature } = await payer.signTransaction(bytes);
      const written = { transaction: bytes, signatures: [signature] };
      const result = await client.executeTransaction(written);
      const failed = result.$kind === 'FailedTransaction';
      if (failed !== fails) throw new Error(JSON.stringify(result, (_, value: unknown) => String(value)));
      const txHash = (failed ? result.FailedTransaction : result.Transaction)!.digest as TxHash;
      sent.set(txHash, written);
      return txHash;
    },
    async again(txHash) {
      await client.executeTransaction(sent.get(txHash)!);
    },
  };
}

function addOutput(transaction: Transaction, { coinType, to, amount, intoBalance }: SuiOutput): void {
  if (intoBalance === true) {
    transaction.moveCall({
      target: '0x2::balance::send_funds',
      typeArguments: [coinType],
      arguments: [transaction.balance({ type: coinType, balance: amount }), transaction.pure.address(to)],
    });
    return;
  }
  transaction.transferObjects([transaction.coin({ type: coinType, balance: amount })], to);
}
