import type { Texts } from './en.ts';

export const es: Texts = {
  waiting: 'Esperando tu pago',
  partial: 'Ha llegado una parte del pago',
  checking: 'Comprobando las novedades',
  timeOver: 'El tiempo para pagar ha terminado',
  reorganised: 'La red está reordenando tu pago',
  confirming: 'Pago detectado, esperando confirmaciones',
  paid: 'Pagado. ¡Gracias!',
  expired: 'Esta solicitud de pago ha caducado',
  underpaid: 'Caducada: ha llegado una cantidad insuficiente',
  late: 'Caducada: tu pago llegó demasiado tarde',
  failed: 'Este pago ha fallado',

  partialHint: 'Han llegado {received} de {amount}. Envía el resto a la misma dirección.',
  checkingHint: 'Esta página estaba en pausa. No envíes nada hasta que vuelva a estar al día.',
  timeOverHint:
    'No envíes nada más. Si ya has pagado, espera un momento: la red todavía se está comprobando.',
  reorganisedHint:
    'No lo envíes otra vez. La red está reordenando sus bloques; tu pago se encontrará en ellos automáticamente.',
  confirmingHint:
    'No tienes que hacer nada más. Puedes cerrar esta página; la tienda recibirá el aviso automáticamente.',
  finalHint: 'La red está haciendo definitivo el pago; puede tardar unos minutos.',
  paidHint: 'La tienda recibirá el aviso automáticamente.',
  expiredHint: 'No envíes nada más a su dirección. Vuelve a la tienda y empieza el pago de nuevo.',
  underpaidHint:
    'Han llegado {received} de {amount}. Está registrado y no se ha perdido. Consulta a la tienda e indica el número de pedido.',
  lateHint:
    'Lo que enviaste ha llegado y está registrado. No se ha perdido. Consulta a la tienda e indica el número de pedido.',
  failedHint: 'Consulta a la tienda e indica el número de pedido. Lo que ha llegado está registrado.',

  timeLeft: 'Tiempo restante',
  runningOut:
    'Un pago enviado ahora puede llegar demasiado tarde. Si aún no has pagado, empieza el pago de nuevo en la tienda.',
  amountDue: 'Importe a enviar',
  amountMissing: 'Falta por enviar',
  amountPaid: 'Importe',
  network: 'Red',
  address: 'Dirección',
  warning:
    'Envía solo {symbol} por {chain}. Cualquier otra cosa, o la misma moneda por otra red, puede perderse.',
  codeOfPayment: 'Código QR del pago: dirección, importe y red',
  codeOfAddress: 'Código QR de la dirección',
  withAmount: 'Con importe',
  addressOnly: 'Solo dirección',
  chooseCode: 'Qué contiene el código QR',
  addressOnlyHint: 'Para exchanges y monederos que no entienden el código con importe.',
  copyAmount: 'Copiar importe',
  copyAddress: 'Copiar dirección',
  copied: 'Copiado',
  copyFailed: 'No se pudo copiar. Selecciónalo y cópialo a mano.',

  openWallet: 'Abrir en una app de monedero',
  openIn: 'Abrir en {wallet}',
  payWith: 'Pagar con {wallet}',
  walletAsked: 'Confirma en {wallet}.',
  walletSent: 'Enviado. En cuanto la red muestre tu pago, lo verás aquí. No pagues por segunda vez.',
  walletOverdue:
    'Tu pago aún no ha llegado. Mira en {wallet}: mientras siga pendiente allí, todavía puede llegar. Paga de nuevo solo si ha fallado o se ha cancelado.',
  walletReverted:
    'El pago de {wallet} ha fallado en la red: no se ha pagado nada salvo la comisión. Compruébalo en {wallet} antes de pagar de nuevo.',
  walletRefused: 'No se confirmó en {wallet}. No se ha enviado nada.',
  walletWrongNetwork: '{wallet} está en otra red. Cámbialo a {chain} e inténtalo de nuevo.',
  walletFailed: 'No es seguro que {wallet} haya enviado tu pago. Mira en {wallet} antes de pagar de nuevo.',
  walletNotAsked:
    'El servidor de la tienda no responde, así que no se ha pedido nada a {wallet}. Inténtalo de nuevo en un momento.',
  payAgain: 'Lo he comprobado: no se pagó nada. Pagar de nuevo',
  walletNotReady:
    '{wallet} no ha respondido. No se ha enviado nada. Ábrelo, desbloquéalo e inténtalo de nuevo.',
  walletUnable: '{wallet} no puede enviar esto desde aquí. Paga a la dirección.',

  order: 'Pedido',
  received: 'Recibido',
  transaction: 'Transacción',
  viewTransaction: 'Verla en el explorador de bloques',
  confirmations: 'Confirmaciones',
  countOf: '{count} de {total}',
  stepSeen: 'Detectado',
  stepConfirming: 'Confirmando',
  stepDone: 'Listo',
  backToShop: 'Volver a la tienda',

  offline: 'Sin conexión. Se intenta de nuevo; lo que has pagado no se ha perdido.',
  language: 'Idioma',
  loading: 'Cargando la solicitud de pago',
  needsScript: 'Esta página necesita JavaScript.',
  tryAgain: 'Intentar de nuevo',

  notFound: 'Pedido no encontrado',
  notFoundHint: 'No existe esa solicitud de pago.',
  linkNotValid: 'Enlace no válido',
  linkNotValidHint: 'Este enlace de pago no es válido. Vuelve a la tienda.',
  tooManyRequests: 'Demasiadas peticiones',
  tooManyRequestsHint: 'Espera un poco e inténtalo de nuevo en unos segundos.',
  notAvailable: 'No disponible',
  notAvailableHint: 'Inténtalo de nuevo en un momento; lo que has pagado no se ha perdido.',
};
