import type { Texts } from './en.ts';

export const pt: Texts = {
  waiting: 'Aguardando o seu pagamento',
  partial: 'Parte do pagamento chegou',
  checking: 'Verificando novidades',
  timeOver: 'O tempo para pagar terminou',
  reorganised: 'A rede está reordenando o seu pagamento',
  confirming: 'Pagamento detectado, aguardando confirmações',
  paid: 'Pago. Obrigado!',
  expired: 'Este pedido de pagamento expirou',
  underpaid: 'Expirado: chegou um valor insuficiente',
  late: 'Expirado: o seu pagamento chegou tarde demais',
  failed: 'Este pagamento falhou',

  partialHint: 'Chegaram {received} de {amount}. Envie o restante para o mesmo endereço.',
  checkingHint: 'Esta página estava em pausa. Não envie nada até que ela esteja atualizada de novo.',
  timeOverHint: 'Não envie mais nada. Se já pagou, aguarde um momento: a rede ainda está sendo verificada.',
  reorganisedHint:
    'Não envie de novo. A rede está reordenando os seus blocos; o seu pagamento será encontrado neles automaticamente.',
  confirmingHint:
    'Não é preciso fazer mais nada. Pode fechar esta página; a loja será avisada automaticamente.',
  finalHint: 'A rede está tornando o pagamento definitivo, o que pode levar alguns minutos.',
  paidHint: 'A loja será avisada automaticamente.',
  expiredHint: 'Não envie mais nada para o endereço. Volte à loja e comece o pagamento de novo.',
  underpaidHint:
    'Chegaram {received} de {amount}. Está registrado e não se perdeu. Fale com a loja e informe o número do pedido.',
  lateHint:
    'O que você enviou chegou e está registrado. Não se perdeu. Fale com a loja e informe o número do pedido.',
  failedHint: 'Fale com a loja e informe o número do pedido. O que chegou está registrado.',

  timeLeft: 'Tempo restante',
  runningOut:
    'Um pagamento enviado agora pode chegar tarde demais. Se ainda não pagou, comece o pagamento de novo na loja.',
  amountDue: 'Valor a enviar',
  amountMissing: 'Falta enviar',
  amountPaid: 'Valor',
  network: 'Rede',
  address: 'Endereço',
  warning:
    'Envie somente {symbol} pela {chain}. Qualquer outra coisa, ou a mesma moeda por outra rede, pode se perder.',
  codeOfPayment: 'Código QR do pagamento: endereço, valor e rede',
  codeOfAddress: 'Código QR do endereço',
  withAmount: 'Com valor',
  addressOnly: 'Só o endereço',
  chooseCode: 'O que o código QR contém',
  addressOnlyHint: 'Para corretoras e carteiras que não entendem o código com valor.',
  copyAmount: 'Copiar valor',
  copyAddress: 'Copiar endereço',
  copied: 'Copiado',
  copyFailed: 'Não foi possível copiar. Selecione e copie manualmente.',

  openWallet: 'Abrir em um app de carteira',
  openIn: 'Abrir no {wallet}',
  payWith: 'Pagar com {wallet}',
  walletAsked: 'Confirme em {wallet}.',
  walletSent: 'Enviado. Assim que a rede mostrar, você verá aqui. Não pague uma segunda vez.',
  walletOverdue:
    'Seu pagamento ainda não chegou. Verifique em {wallet}: enquanto estiver pendente lá, ele ainda pode chegar. Pague de novo somente se ele falhou ou foi cancelado.',
  walletReverted:
    'O pagamento de {wallet} falhou na rede: nada foi pago além da taxa. Confira isso em {wallet} antes de pagar de novo.',
  walletRefused: 'Não confirmado em {wallet}. Nada foi enviado.',
  walletWrongNetwork: '{wallet} está em outra rede. Mude para {chain} e tente de novo.',
  walletFailed: 'Não é certo se {wallet} enviou. Verifique em {wallet} antes de pagar de novo.',
  walletNotAsked:
    'O servidor da loja não respondeu, por isso nada foi pedido a {wallet}. Tente de novo em um momento.',
  payAgain: 'Verifiquei: nada foi pago. Pagar de novo',
  walletNotReady: '{wallet} não respondeu. Nada foi enviado. Abra e desbloqueie a carteira e tente de novo.',
  walletUnable: '{wallet} não consegue enviar isto daqui. Pague para o endereço.',

  order: 'Pedido',
  received: 'Recebido',
  transaction: 'Transação',
  viewTransaction: 'Ver no explorador de blocos',
  confirmations: 'Confirmações',
  countOf: '{count} de {total}',
  stepSeen: 'Detectado',
  stepConfirming: 'Confirmando',
  stepDone: 'Concluído',
  backToShop: 'Voltar à loja',

  offline: 'Sem conexão. Tentando de novo; o que você pagou não se perdeu.',
  language: 'Idioma',
  loading: 'Carregando o pedido de pagamento',
  needsScript: 'Esta página precisa de JavaScript.',
  tryAgain: 'Tentar de novo',

  notFound: 'Pedido não encontrado',
  notFoundHint: 'Esse pedido de pagamento não existe.',
  linkNotValid: 'Link inválido',
  linkNotValidHint: 'Este link de pagamento não é válido. Volte à loja.',
  tooManyRequests: 'Solicitações demais',
  tooManyRequestsHint: 'Aguarde e tente de novo em alguns segundos.',
  notAvailable: 'Indisponível',
  notAvailableHint: 'Tente de novo em um momento; o que você pagou não se perdeu.',
};
