"""Tables of results that earlier versions wrote still load: names, order and types of their columns."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tammes.papers.ash.text_training import TextRun, TextScore
from tammes.papers.ash.vision_training import VisionRun, VisionScore
from tammes.papers.jiang.minmax import EncoderScore
from tammes.papers.jiang.transport_degeneracy import EncoderTraining
from tammes.papers.robinson_features.adversarial import AttackScore
from tammes.papers.robinson_features.classification import ReadoutScore
from tammes.papers.robinson_features.methods import FeatureRun
from tammes.papers.robinson_features.pictures import PictureScore
from tammes.papers.robinson_features.readouts import FeatureScore
from tammes.papers.robinson_features.robust import RobustScore
from tammes.papers.robinson_features.volumes import VolumesRun, VolumesScore
from tammes.papers.robinson_masked.measured import MaskedScore
from tammes.papers.robinson_masked.runs import MaskedRun
from tammes.papers.robinson_negatives.graphs_nodes import NodeRun, NodeScore
from tammes.papers.robinson_negatives.images_arms import ImageRun
from tammes.papers.robinson_negatives.images_training import ImageScore
from tammes.papers.robinson_sets.loss_training import LossScore, LossTraining
from tammes.papers.robinson_sets.training import GraphScore, GraphTraining
from tammes.papers.robinson_spectral.automorphism_counts import GraphSample, SymmetryScore
from tammes.papers.robinson_spectral.figure_7_3 import EncodingRun
from tammes.papers.robinson_spectral.filters import FilterRun, FilterScore
from tammes.papers.robinson_spectral.multiplicities import GraphSet, MultiplicityScore
from tammes.papers.robinson_spectral.properties import EXPERIMENT as PROPERTIES
from tammes.papers.robinson_spectral.substructures import EXPERIMENT as SUBSTRUCTURES
from tammes.papers.robinson_spectral.texture_training import TextureRun, TextureScore
from tammes.papers.robinson_spectral.zinc_training import ZincRun, ZincScore
from tammes.papers.study import Results
from tammes.papers.weber.active_training import ActiveRun, ActiveScore
from tammes.papers.weber.training import RunScore, StrategyRun

FEATURE_COLUMNS = "data,method,temperature,beta,epsilon,alpha,queue,images,epochs,batch_size,encoder,seed,"
FEATURE_COLUMNS_OF_READOUTS = (
    f"{FEATURE_COLUMNS}features,readouts,half,quarter,at_least,at_most,loss,training_loss,seconds"
)

TABLES = {
    "negatives-text": (
        TextRun,
        TextScore,
        "corpus,digest,classes,batch,negatives,collisions,seed,dim,epochs,linear_epochs,early,"
        "mean,linear,loss,steps,skipped,mean_early,linear_early",
        "novels,0123abcd,25,125,10,True,0,64,15,5,0,0.5,0.625,0.25,180,0,nan,nan",
    ),
    "negatives-vision": (
        VisionRun,
        VisionScore,
        "data,positives,batch_size,k,seed,images,epochs,encoder,linear,mean,linear_early,mean_early,loss,steps",
        "CIFAR-10,real,16,4,0,1280,24,SmallNet,0.25,0.125,0.25,0.125,0.5,1920",
    ),
    "negatives-images": (
        ImageRun,
        ImageScore,
        "data,objective,temperature,hardness,class_prior,positives,annealing,queue,batch_size,classes,images,"
        "epochs,encoder,measured_on,seed,probe,tenth,hundredth,knn,epochs_measured,curve,overlap,loss,steps,"
        "seconds",
        'CIFAR-100,HCL,0.5,2.0,0.01,views,none,0,256,100,5000,10,"ResNet-9, width 16",test images,2,0.25,'
        "0.125,0.0625,0.125,0 10,0.0625 0.125,0.75,5.5,190,40.5",
    ),
    "graphs-nodes": (
        NodeRun,
        NodeScore,
        "data,method,seed,nodes,epochs,test,validation,loss,seconds",
        "a graph of 7 classes,uniform,0,20000,20,0.75,0.5,5.5,60.5",
    ),
    "features-trade-off": (
        FeatureRun,
        FeatureScore,
        FEATURE_COLUMNS_OF_READOUTS,
        'digits over objects,hard negatives,0.5,2.0,0.0,1.0,0,4000,10,128,"ResNet-9, width 16",0,'
        "object digit,0.25 0.5,0.25 0.5,0.125 0.5,0.0 0.25,0.5 1.0,5.5,4.5,60.5",
    ),
    "features-ifm": (
        FeatureRun,
        FeatureScore,
        FEATURE_COLUMNS_OF_READOUTS,
        'Trifeature,IFM,0.05,0.0,0.1,1.0,0,4000,10,128,"ResNet-9, width 16",0,shape texture color,'
        "0.25 0.5 1.0,0.25 0.5 1.0,0.25 0.25 1.0,0.0 0.25 1.0,0.5 0.5 1.0,5.5,4.5,60.5",
    ),
    "features-classification": (
        FeatureRun,
        ReadoutScore,
        f"{FEATURE_COLUMNS}probe,knn,loss,seconds",
        'CIFAR-10,IFM-MoCo,0.1,0.0,0.05,1.0,2048,4000,10,128,"ResNet-9, width 16",0,0.5,0.25,4.5,60.5',
    ),
    "features-robust": (
        FeatureRun,
        RobustScore,
        f"{FEATURE_COLUMNS}standard,robust,fragile,reached,steps,seconds",
        'CIFAR-10,IFM,0.5,0.0,0.1,1.0,0,4000,10,128,"ResNet-9, width 16",0,0.5,0.5,0.25,1.0,3.5,60.5',
    ),
    "features-adversarial": (
        FeatureRun,
        AttackScore,
        f"{FEATURE_COLUMNS}standard,attacked,seconds",
        'CIFAR-10,SimCLR,0.5,0.0,0.0,1.0,0,4000,10,128,"ResNet-9, width 16",0,0.5,0.25 0.125 0.0,60.5',
    ),
    "features-pictures": (
        FeatureRun,
        PictureScore,
        f"{FEATURE_COLUMNS}positive,negative,closeness,approach,shown,seconds",
        'CIFAR-10,MoCo,0.1,0.0,0.0,1.0,2048,4000,10,128,"ResNet-9, width 16",0,0.5 0.25,0.25 0.5,0.5 0.25,'
        "0.25 0.5,7 8,60.5",
    ),
    "features-volumes": (
        VolumesRun,
        VolumesScore,
        "data,arm,seed,volumes,measured,epochs,batch_size,width,measures,loss,seconds",
        'synthetic volumes,SimCLR,0,768,400,10,64,8,"{""share, R^2"": 0.5}",3.5,60.5',
    ),
    "transport-degeneracy": (
        EncoderTraining,
        EncoderScore,
        "adversary,seed,steps,loss,value,value_marginals,value_no_self,self_matched,cosine,rank,knn",
        '"entropy, ε = 0.1",2,400,0.75,-0.5,0.25,0.125,1.0,0.5,2.5,0.75',
    ),
    "positives-table-1": (
        StrategyRun,
        RunScore,
        "row,strategy,settings,updates,seed,accuracy,last,ceiling,tries,missed",
        '"4 classes, 4 + 4 latents",active,class_noise=0.35 scale=2.5,1000,3,0.75,0.75,1.0,1.0,0.0',
    ),
    "positives-real-data": (
        ActiveRun,
        ActiveScore,
        "data,positives,seed,images,epochs,longer,probe,few,knn,probe_as_long,few_as_long,knn_as_long,loss,"
        "steps,steps_as_long,seconds,seconds_as_long",
        'digits,"active, labels",0,1437,20,1.5,0.75,0.5,0.75,0.75,0.5,0.75,4.0,220,220,12.5,12.5',
    ),
    "masked-methods": (
        MaskedRun,
        MaskedScore,
        "data,method,rate,contrast,share,noise,learning_rate,images,test_images,epochs,batch_size,encoder,"
        "tuned_epochs,corrupted_images,measured_on,seed,probe,shots,few_shot,tuned,corruptions,corrupted,clean,"
        "contrastive,reconstruction,denoising,steps,flops,seconds",
        "CIFAR-10,CAN,0.5,0.03,0.7,0.05,0.001,4000,2000,10,64,ViT 3 x 64,5,100,test images,0,0.5,1 5 10 25,"
        "0.1 0.2 0.3 0.4,0.5,fog jpeg,0.25 0.125,0.5,4.0,0.0625,0.03125,620,1000000000000.0,60.5",
    ),
    "sets-combinatorial": (
        GraphTraining,
        GraphScore,
        "data,problem,method,epochs,width,layers,batch_size,learning_rate,eigenvectors,k,seed,"
        "graphs,ratio,deviation,f1,validation,best_epoch,seconds_per_epoch,largest,four_largest",
        "MUTAG,clique,Lovász,80,64,6,32,0.0001,4,0,0,56,0.875,0.25,1.0,0.875,7,0.5,0.0,0.0",
    ),
    "sets-training-error": (
        LossTraining,
        LossScore,
        "data,images,network,loss,learning_rate,epochs,seed,diverged,validation,test,value,error,distance,"
        "seconds_per_epoch",
        "MNIST,3686,small convolutional network,hinge,0.1,10,0,False,0.75,0.75,0.5,0.25,0.125,1.5",
    ),
    "spectral-filters": (
        FilterRun,
        FilterScore,
        "image,method,setting,steps,learning_rate,seed,low,high,band,rejection,comb,parameters,seconds",
        "3,SignNet,sets,2000,0.01,0,0.5,0.25,0.125,0.5,0.25,12345,60.5",
    ),
    "spectral-texture": (
        TextureRun,
        TextureScore,
        "method,steps,test_views,eigenfunctions,batch_size,learning_rate,side,seed,psnr,dssim,change,parameters,seconds",
        "SignNet,750,20,1023,409,0.002,128,0,28.5,0.25,0.0,54321,60.5",
    ),
    "spectral-zinc": (
        ZincRun,
        ZincScore,
        "base,encoding,eigenvectors,molecules,epochs,width,layers,phi_width,phi_layers,batch_size,learning_rate,"
        "seed,test,validation,best_epoch,parameters,seconds_per_epoch",
        "GatedGCN,SignNet,8,10000,300,128,4,80,4,64,0.001,0,0.125,0.25,290,400000,8.5",
    ),
    "spectral-automorphisms": (
        GraphSample,
        SymmetryScore,
        "data,kind,nodes,graphs,seed,counted,automorphism,above_two,adjacency,laplacian,both_adjacency,"
        "both_laplacian,exceptions,sensitive,residual",
        'drawn,"G(n, 1/2)",6,200,0,200,150,60,80,90,70,75,0,1,1.5e-15',
    ),
    "spectral-multiplicities": (
        GraphSet,
        MultiplicityScore,
        "data,most,graphs,least_nodes,most_nodes,multiplicity,percent_graphs,distinct,multiplicities,"
        "percent_vectors,decades",
        "ZINC,12000,12000,9,37,9,64.5,1000,9,12.5,3.5",
    ),
    "spectral-substructures": (
        EncodingRun,
        SUBSTRUCTURES.scores,
        "encoding,graphs,epochs,width,layers,batch_size,learning_rate,seed,triangle,tailed_triangle,star,"
        "chordal_cycle,parameters,seconds_per_epoch",
        "SignNet,1500,300,128,4,64,0.001,0,0.5,0.25,0.125,0.5,400000,8.5",
    ),
    "spectral-properties": (
        EncodingRun,
        PROPERTIES.scores,
        "encoding,graphs,epochs,width,layers,batch_size,learning_rate,seed,connected,diameter,spectral_radius,"
        "parameters,seconds_per_epoch",
        "SignNet,5120,300,128,4,64,0.001,0,0.5,0.25,0.125,400000,8.5",
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_an_earlier_version_loads(name: str, tmp_path: Path) -> None:
    cell, score, header, row = TABLES[name]
    path = tmp_path / "table.csv"
    path.write_text(f"{header}\n{row}\n", encoding="utf-8")
    ((known, measured),) = Results(path, cell, score).known.items()
    assert isinstance(known, cell)
    # Written once more, it is the same.
    again = Results(tmp_path / "again.csv", cell, score)
    again.append(known, measured)
    assert again.path.read_text(encoding="utf-8") == path.read_text(encoding="utf-8")
    assert ",".join(field.name for kind in (cell, score) for field in dataclasses.fields(kind)) == header


def test_settings_of_a_run_on_latents_are_written_as_before(tmp_path: Path) -> None:
    """They are one column: another wording would be another run, to be trained again."""
    from tammes.papers.entry import Request
    from tammes.papers.weber import POSITIVES_TABLE_1 as ENTRY
    from tammes.papers.weber.table_1 import plan as plan_1
    from tammes.papers.weber.table_2 import plan as plan_2

    whole = Request(entry=ENTRY, out=tmp_path, budget=1.0, seed=0)
    assert plan_1(whole)[0].cells()[0].settings == (
        "class_noise=0.3 perturbation=0.2 share=0.25 tries=32 anchors_of=4 mixing_depth=2 mixing_width=2 "
        "condition=2 gain=1 dim=0 width=64 depth=2 temperature=0.5 pairs=64 updates=10 batch=64 "
        "learning_rate=0.0001"
    )
    assert plan_2(whole)[0].cells()[0].settings == (
        "class_noise=0.35 scale=2.5 observed=32 mixing_depth=2 mixing_width=64 condition=2 gain=1 dim=0 "
        "width=128 depth=2 temperature=0.5 batch=128 learning_rate=0.0001 neighbors=20 train=1000 test=500 "
        "resamples=10"
    )


def test_a_table_with_the_line_ends_of_csv_loads_and_grows(tmp_path: Path) -> None:
    """The table of transport-degeneracy had them."""
    cell, score, header, row = TABLES["transport-degeneracy"]
    path = tmp_path / "table.csv"
    path.write_bytes(f"{header}\r\n{row}\r\n".encode())
    results = Results(path, cell, score)
    ((known, measured),) = results.known.items()
    results.append(dataclasses.replace(known, seed=3), measured)
    assert [each.seed for each in Results(path, cell, score).known] == [2, 3]
