import type { Texts } from './en.ts';

export const tr: Texts = {
  waiting: 'Ödemeniz bekleniyor',
  partial: 'Ödemenin bir kısmı geldi',
  checking: 'Son durum denetleniyor',
  timeOver: 'Ödeme süresi doldu',
  reorganised: 'Ağ ödemenizi yeniden sıralıyor',
  confirming: 'Ödeme görüldü, onaylar bekleniyor',
  paid: 'Ödendi. Teşekkürler!',
  expired: 'Bu ödeme isteğinin süresi doldu',
  underpaid: 'Süresi doldu: gelen tutar eksik',
  late: 'Süresi doldu: ödemeniz çok geç geldi',
  failed: 'Bu ödeme başarısız oldu',

  partialHint: '{amount} tutarın {received} kadarı geldi. Lütfen kalanı aynı adrese gönderin.',
  checkingHint: 'Bu sayfa duraklatılmıştı. Yeniden güncellenene kadar lütfen hiçbir şey göndermeyin.',
  timeOverHint: 'Lütfen artık bir şey göndermeyin. Ödediyseniz biraz bekleyin: ağ hâlâ denetleniyor.',
  reorganisedHint:
    'Lütfen yeniden göndermeyin. Ağ bloklarını yeniden sıralıyor; ödemeniz bunların içinde otomatik olarak bulunacak.',
  confirmingHint:
    'Yapmanız gereken başka bir şey yok. Bu sayfayı kapatabilirsiniz; mağazaya otomatik olarak haber verilir.',
  finalHint: 'Ağ ödemeyi kesinleştiriyor, bu birkaç dakika sürebilir.',
  paidHint: 'Mağazaya otomatik olarak haber verilir.',
  expiredHint: 'Lütfen adrese artık bir şey göndermeyin. Mağazaya dönüp ödemeyi yeniden başlatın.',
  underpaidHint:
    '{amount} tutarın {received} kadarı geldi. Kaydedildi, kaybolmadı. Lütfen sipariş numarasıyla mağazaya başvurun.',
  lateHint:
    'Gönderdiğiniz tutar geldi ve kaydedildi. Kaybolmadı. Lütfen sipariş numarasıyla mağazaya başvurun.',
  failedHint: 'Lütfen sipariş numarasıyla mağazaya başvurun. Gelen tutar kaydedildi.',

  timeLeft: 'Kalan süre',
  runningOut:
    'Şimdi gönderilen bir ödeme çok geç ulaşabilir. Henüz ödemediyseniz lütfen mağazada ödemeyi yeniden başlatın.',
  amountDue: 'Gönderilecek tutar',
  amountMissing: 'Gönderilecek kalan',
  amountPaid: 'Tutar',
  network: 'Ağ',
  address: 'Adres',
  warning:
    'Yalnızca {chain} üzerinden {symbol} gönderin. Başka her şey veya aynı coin başka bir ağda kaybolabilir.',
  codeOfPayment: 'Ödemenin QR kodu: adres, tutar ve ağ',
  codeOfAddress: 'Adresin QR kodu',
  withAmount: 'Tutarla',
  addressOnly: 'Yalnız adres',
  chooseCode: 'QR kodun içeriği',
  addressOnlyHint: 'Tutarlı kodu anlamayan borsalar ve cüzdanlar için.',
  copyAmount: 'Tutarı kopyala',
  copyAddress: 'Adresi kopyala',
  copied: 'Kopyalandı',
  copyFailed: 'Kopyalanamadı. Lütfen seçip elle kopyalayın.',

  openWallet: 'Cüzdan uygulamasında aç',
  openIn: '{wallet} ile aç',
  payWith: '{wallet} ile öde',
  walletAsked: 'Lütfen {wallet} içinde onaylayın.',
  walletSent: 'Gönderildi. Ağ gösterir göstermez burada görürsünüz. Lütfen ikinci kez ödemeyin.',
  walletOverdue:
    'Ödemeniz henüz gelmedi. Lütfen {wallet} içine bakın: Orada beklediği sürece yine de gelebilir. Yalnızca başarısız olduysa ya da iptal edildiyse yeniden ödeyin.',
  walletReverted:
    '{wallet} ödemesi ağda başarısız oldu: ücret dışında hiçbir şey ödenmedi. Yeniden ödemeden önce lütfen bunu {wallet} içinde denetleyin.',
  walletRefused: '{wallet} içinde onaylanmadı. Hiçbir şey gönderilmedi.',
  walletWrongNetwork: '{wallet} başka bir ağda. Lütfen {chain} ağına geçip yeniden deneyin.',
  walletFailed: '{wallet} gönderdi mi, kesin değil. Yeniden ödemeden önce lütfen {wallet} içine bakın.',
  walletNotAsked:
    'Mağazanın sunucusundan yanıt gelmedi, bu yüzden {wallet} ile ödeme istenmedi. Lütfen biraz sonra yeniden deneyin.',
  payAgain: 'Baktım: hiçbir şey ödenmedi. Yeniden öde',
  walletNotReady:
    '{wallet} yanıt vermedi. Hiçbir şey gönderilmedi. Lütfen açıp kilidini kaldırın ve yeniden deneyin.',
  walletUnable: '{wallet} bunu buradan gönderemiyor. Lütfen adrese ödeyin.',

  order: 'Sipariş',
  received: 'Gelen',
  transaction: 'İşlem',
  viewTransaction: 'Blok gezgininde görüntüle',
  confirmations: 'Onaylar',
  countOf: '{count} / {total}',
  stepSeen: 'Görüldü',
  stepConfirming: 'Onaylanıyor',
  stepDone: 'Tamam',
  backToShop: 'Mağazaya dön',

  offline: 'Bağlantı yok. Yeniden deneniyor; ödediğiniz kaybolmadı.',
  language: 'Dil',
  loading: 'Ödeme isteği yükleniyor',
  needsScript: 'Bu sayfa için JavaScript gerekir.',
  tryAgain: 'Yeniden dene',

  notFound: 'Sipariş bulunamadı',
  notFoundHint: 'Böyle bir ödeme isteği yok.',
  linkNotValid: 'Bağlantı geçersiz',
  linkNotValidHint: 'Bu ödeme bağlantısı geçersiz. Lütfen mağazaya dönün.',
  tooManyRequests: 'Çok fazla istek',
  tooManyRequestsHint: 'Lütfen birkaç saniye sonra yeniden deneyin.',
  notAvailable: 'Kullanılamıyor',
  notAvailableHint: 'Lütfen biraz sonra yeniden deneyin; ödediğiniz kaybolmadı.',
};
